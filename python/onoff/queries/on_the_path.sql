-- Who was on the path of each phase: whose time it was, most first. The entries of a phase sum to its length.
SELECT recording,
       transition,
       phase,
       kind,
       name,
       ns,
       round(100.0 * ns / nullif(phase_ns, 0), 1) AS percent,
       certainty
FROM account
WHERE ns > 0
ORDER BY recording, phase_ns DESC, phase, ns DESC
