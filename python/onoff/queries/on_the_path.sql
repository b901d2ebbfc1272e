-- Time of each phase by subject on the critical path, longest first. The entries of a phase add up to its duration.
SELECT recording,
       transition,
       phase,
       kind,
       subject,
       ns,
       round(100.0 * ns / nullif(phase_ns, 0), 1) AS percent,
       certainty
FROM account
WHERE ns > 0
ORDER BY recording, phase_ns DESC, phase, ns DESC
