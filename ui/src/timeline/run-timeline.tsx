import { useMemo, type ReactNode } from 'react';
import type { Bead, Schemas } from '../api/types.js';
import { useNow } from '../lib/clock.js';
import { counted } from '../lib/counted.js';
import { useCityList } from '../live/use-list.js';
import { Empty, Problem } from '../parts/basics.js';
import { Loading } from '../parts/page.js';
import { isOver } from '../parts/run-state.js';
import { Chart } from './chart.js';
import { EventList } from './events.js';
import { stepLanes } from './steps.js';
import { eventsOf, isCut } from './subject-events.js';

/** More lanes are no picture any more. */
const LANES = 60;

interface Props {
  readonly city: string;
  readonly run: Schemas['Run'];
  readonly steps: readonly Schemas['RunStep'][];
  readonly zoom: { readonly from: number; readonly to: number } | undefined;
  readonly onZoom: (zoom: { from: number; to: number } | undefined) => void;
}

/** When each step waited and was worked on. */
export function RunTimeline({ city, run, steps, zoom, onZoom }: Props): ReactNode {
  const { run_id: id } = run;
  const { list, snapshot } = useCityList(city, `run ${id}`, () =>
    eventsOf(
      city,
      () => [[{ payload_match: `bead.metadata.gc.root_bead_id=${id}` }]],
      ({ payload }) => (payload as { bead?: Bead }).bead?.metadata?.['gc.root_bead_id'] === id,
    ),
  );
  const events = snapshot.rows;
  const now = useNow();
  const lanes = useMemo(() => stepLanes(steps, events).slice(0, LANES), [steps, events]);
  if (snapshot.error !== undefined && snapshot.rows.length === 0)
    return <Problem error={snapshot.error} onRetry={() => void list.read()} />;
  if (snapshot.phase === 'first') return <Loading rows={4} />;
  const times = lanes.flatMap(({ spans }) => spans.flatMap(({ from, to }) => [from, to ?? from]));
  if (times.length === 0) return <Empty title="The log has no times of its steps" />;
  const from = Math.min(...times);
  const to = isOver(run.status) ? Math.max(...times) : Math.max(now, ...times);
  return (
    <div className="flex flex-col gap-4">
      <Chart
        lanes={lanes}
        from={from}
        to={to}
        zoom={zoom}
        onZoom={onZoom}
        label={`The steps of ${id} over time, ${counted(lanes.length, 'lane')}`}
      />
      {steps.length > LANES && (
        <p className="text-sm text-muted">
          The first {LANES} of {steps.length} steps are drawn.
        </p>
      )}
      {isCut(snapshot.rows.length) && <p className="text-sm text-muted">There are more events than are read: these are the newest.</p>}
      <div className="rounded-xl border border-line bg-panel">
        <EventList events={events} label={`Events of ${id}, the newest first`} />
      </div>
    </div>
  );
}
