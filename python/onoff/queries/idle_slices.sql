-- CPU and disk usage in slices of 100 ms from the start of each phase, to find idle time.
--
-- A CPU is busy while a thread other than its idle thread runs. A disk is busy while it serves a request; the busiest disk counts.
-- Low-priority work is ignored: threads below priority 8, and requests with low or very low priority. A slice is idle if neither CPU
-- nor disk was used for more than 20 % of it, as in the rule of xperf. Requires context switches.
WITH processors AS (
    SELECT recording, count(DISTINCT cpu) AS number FROM context_switches GROUP BY recording
),
running AS (
    SELECT recording, new_tid AS tid, new_priority AS priority, time_ns AS start_ns,
           lead(time_ns) OVER (PARTITION BY recording, cpu ORDER BY time_ns) AS end_ns
    FROM context_switches
),
work AS (
    SELECT recording, -1 AS disk, start_ns, end_ns FROM running
    WHERE tid <> 0 AND priority >= 8 AND end_ns > start_ns
    UNION ALL
    SELECT recording, disk, complete_ns - service_ns, complete_ns FROM disk_ios
    WHERE service_ns > 0 AND priority NOT IN ('very_low', 'low')
),
slices AS (
    SELECT recording, transition, phase, start_ns + 100000000 * slice AS start_ns,
           least(start_ns + 100000000 * (slice + 1), end_ns) AS end_ns
    FROM (SELECT *, unnest(range((end_ns - start_ns + 99999999) // 100000000)) AS slice FROM phases)
),
pieces AS (
    -- Split work into slices of its phase, so that joins can use equality instead of ranges.
    SELECT p.recording, p.transition, p.phase, w.disk,
           greatest(w.start_ns, p.start_ns) AS start_ns, least(w.end_ns, p.end_ns) AS end_ns,
           p.start_ns AS phase_ns,
           unnest(range((greatest(w.start_ns, p.start_ns) - p.start_ns) // 100000000,
                        (least(w.end_ns, p.end_ns) - 1 - p.start_ns) // 100000000 + 1)) AS slice
    FROM work AS w JOIN phases AS p
      ON p.recording = w.recording AND w.start_ns < p.end_ns AND p.start_ns < w.end_ns
),
busy AS (
    SELECT recording, transition, phase, phase_ns + 100000000 * slice AS start_ns, disk,
           sum(least(end_ns, phase_ns + 100000000 * (slice + 1)) - greatest(start_ns, phase_ns + 100000000 * slice)) AS ns
    FROM pieces
    GROUP BY ALL
),
used AS (
    SELECT s.recording, s.transition, s.phase, s.start_ns, s.end_ns - s.start_ns AS length_ns,
           coalesce(max(b.ns) FILTER (b.disk < 0), 0) / any_value(n.number) AS cpu_ns,
           coalesce(max(b.ns) FILTER (b.disk >= 0), 0) AS disk_ns
    FROM slices AS s
    JOIN processors AS n ON n.recording = s.recording
    LEFT JOIN busy AS b
      ON b.recording = s.recording AND b.transition = s.transition AND b.phase = s.phase AND b.start_ns = s.start_ns
    GROUP BY ALL
)
SELECT recording, transition, phase, start_ns,
       round(100.0 * cpu_ns / length_ns, 1) AS cpu_percent,
       round(100.0 * disk_ns / length_ns, 1) AS disk_percent,
       cpu_ns <= 0.2 * length_ns AND disk_ns <= 0.2 * length_ns AS idle
FROM used
WHERE length_ns > 0
ORDER BY recording, start_ns
