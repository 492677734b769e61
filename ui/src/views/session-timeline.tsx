import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import type { LoggedEvent } from '../api/types.js';
import { useNow } from '../lib/clock.js';
import { counted } from '../lib/counted.js';
import { useKeys } from '../lib/keys.js';
import { lasts } from '../lib/lasts.js';
import { useCityList } from '../live/use-list.js';
import { oldSince } from '../parts/as-of.js';
import { Empty } from '../parts/basics.js';
import { Icon } from '../parts/icons.js';
import { CityPage, Loading } from '../parts/page.js';
import { Chart } from '../timeline/chart.js';
import { EventList } from '../timeline/events.js';
import { lasting, turnsOf, waitsOf } from '../timeline/lanes.js';
import { eventsOf, isCut, type Query } from '../timeline/subject-events.js';
import { Sum } from '../timeline/sum.js';

const ofSession =
  (id: string) =>
  ({ subject, session_id, payload }: LoggedEvent): boolean =>
    subject === id || session_id === id || payload.session_id === id;

/** What a session did over time: its turns, and when it waited for a person. */
export function SessionTimeline(): ReactNode {
  const { city, id } = useParams({ from: '/c/$city/sessions/$id/timeline' });
  const { from, to } = useSearch({ from: '/c/$city/sessions/$id/timeline' });
  const navigate = useNavigate({ from: '/c/$city/sessions/$id/timeline' });
  const { list, snapshot } = useCityList(city, `time of ${id}`, () =>
    eventsOf(city, () => [[{ subject: id } as Query, { payload_match: `session_id=${id}` }]], ofSession(id)),
  );
  const now = useNow();
  const { turns, asked, first } = useMemo(
    () => ({ turns: turnsOf(snapshot.rows), asked: waitsOf(snapshot.rows), first: snapshot.rows[0] }),
    [snapshot],
  );
  useKeys('Timeline', [
    {
      keys: 'u',
      label: 'back to the session',
      run: () => void navigate({ to: '/c/$city/sessions/$id', params: { city, id }, search: {} }),
    },
  ]);
  const lanes = [
    { name: 'Turns', spans: turns.spans },
    { name: 'Waits for you', spans: asked },
  ].filter(({ spans }) => spans.length > 0);
  const begin = Math.min(first === undefined ? now : new Date(first.ts).getTime(), ...turns.spans.map((span) => span.from));
  const end = Math.max(now, ...turns.spans.map((span) => span.to ?? 0));
  return (
    <CityPage
      city={city}
      title={`Session ${id} over time`}
      error={snapshot.error}
      onRetry={() => void list.read()}
      asOf={oldSince(snapshot)}
      tools={
        <Link
          to="/c/$city/sessions/$id"
          params={{ city, id }}
          className="inline-flex items-center gap-1 rounded-md px-2 py-1.5 text-sm text-muted hover:bg-raised"
        >
          <Icon name="back" /> What was said
        </Link>
      }
    >
      {snapshot.phase === 'first' && snapshot.error === undefined && <Loading />}
      {snapshot.phase !== 'first' && lanes.length === 0 && <Empty title="It has had no turn that the log knows" />}
      {lanes.length > 0 && (
        <div className="flex flex-col gap-4 rounded-xl border border-line bg-panel p-4">
          <dl className="flex flex-wrap gap-x-8 gap-y-2">
            <Sum name="Turns">{turns.spans.length}</Sum>
            <Sum name="Worked">{lasts(lasting(turns.spans, end))}</Sum>
            <Sum name="Waited for a person">{lasts(lasting(asked, end))}</Sum>
            <Sum name="Cost">{turns.cost === 0 ? '–' : `$${turns.cost.toFixed(2)}`}</Sum>
          </dl>
          <Chart
            lanes={lanes}
            from={begin}
            to={end}
            zoom={from === undefined || to === undefined ? undefined : { from: Number(from), to: Number(to) }}
            label={`${counted(turns.spans.length, 'turn')} and ${counted(asked.length, 'question')} of ${id}`}
            onZoom={(next) =>
              void navigate({
                search: next === undefined ? {} : { from: String(Math.round(next.from)), to: String(Math.round(next.to)) },
                replace: true,
              })
            }
          />
        </div>
      )}
      {isCut(snapshot.rows.length) && <p className="text-sm text-muted">There are more events than are read: these are the newest.</p>}
      {snapshot.rows.length > 0 && (
        <div className="rounded-xl border border-line bg-panel">
          <EventList events={snapshot.rows} label={`Events of ${id}, the newest first`} />
        </div>
      )}
    </CityPage>
  );
}
