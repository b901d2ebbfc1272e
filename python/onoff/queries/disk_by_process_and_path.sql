-- Files read and written by each process in each phase: requests, bytes, and disk service time.
--
-- A request counts in the phase in which it completed. The process is the one that had the id when the request was issued; file is
-- empty if the recording does not name it.
SELECT p.recording,
       p.transition,
       p.phase,
       o.image,
       d.pid,
       d.file,
       count(*) FILTER (d.operation = 'read')  AS reads,
       coalesce(sum(d.size) FILTER (d.operation = 'read'), 0)  AS read_bytes,
       count(*) FILTER (d.operation = 'write') AS writes,
       coalesce(sum(d.size) FILTER (d.operation = 'write'), 0) AS written_bytes,
       sum(d.service_ns) AS service_ns
FROM phases AS p
JOIN disk_ios AS d
  ON d.recording = p.recording AND d.complete_ns >= p.start_ns AND d.complete_ns < p.end_ns
LEFT JOIN processes AS o
  ON o.recording = d.recording AND o.pid = d.pid
 AND coalesce(d.issue_ns, d.complete_ns) >= coalesce(o.start_ns, coalesce(d.issue_ns, d.complete_ns))
 AND coalesce(d.issue_ns, d.complete_ns) < coalesce(o.end_ns, coalesce(d.issue_ns, d.complete_ns) + 1)
GROUP BY ALL
ORDER BY p.recording, min(p.start_ns), service_ns DESC
