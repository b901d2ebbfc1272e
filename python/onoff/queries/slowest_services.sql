-- Service starts, longest first, with the phase in which they were requested. The duration is NULL if the recording has no end.
SELECT s.recording,
       s.service,
       s."group",
       p.transition,
       p.phase,
       s.start_ns,
       s.end_ns - s.start_ns AS duration_ns,
       s.outcome
FROM service_transitions AS s
LEFT JOIN phases AS p
  ON p.recording = s.recording AND s.start_ns >= p.start_ns AND s.start_ns < p.end_ns
WHERE s.kind = 'start'
ORDER BY duration_ns DESC NULLS LAST, s.service
