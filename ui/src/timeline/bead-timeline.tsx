import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import type { LoggedEvent } from '../api/types.js';
import { useNow } from '../lib/clock.js';
import { lasts } from '../lib/lasts.js';
import { visible } from '../lib/text.js';
import { useCityList } from '../live/use-list.js';
import { Problem } from '../parts/basics.js';
import { Loading } from '../parts/page.js';
import { Chart } from './chart.js';
import { EventList } from './events.js';
import { lasting, timeOf, turnsOf } from './lanes.js';
import { eventsOf, isCut } from './subject-events.js';
import { Sum } from './sum.js';

/** Sessions that are looked at for questions; more would be a request each. */
const SESSIONS = 8;

function beadEvents(city: string, id: string): ReturnType<typeof eventsOf> {
  const turns = { type: 'worker.operation', payload_match: `bead_id=${id}` };
  const sessionsOf = (events: readonly LoggedEvent[]): string[] => turnsOf(events).sessions.slice(-SESSIONS);
  return eventsOf(
    city,
    (found) => [
      [{ subject: id }, turns],
      sessionsOf(found).flatMap((session) =>
        ['session.interaction.opened', 'session.interaction.resolved'].map((type) => ({ type, payload_match: `session_id=${session}` })),
      ),
    ],
    ({ subject, payload, type }, list) => {
      const { bead } = payload as { bead?: { id: string } };
      if (subject === id || bead?.id === id || payload.bead_id === id) return true;
      return type.startsWith('session.interaction.') && sessionsOf(list.snapshot().rows).includes(String(payload.session_id));
    },
  );
}

/** What has happened with a bead, over time: what it was, who had it, what was waited for. */
export function BeadTimeline({ city, id }: { city: string; id: string }): ReactNode {
  const { list, snapshot } = useCityList(city, `time ${id}`, () => beadEvents(city, id));
  const { from, to } = useSearch({ from: '/c/$city/beads/$id' });
  const navigate = useNavigate({ from: '/c/$city/beads/$id' });
  const now = useNow();
  const time = useMemo(() => timeOf(snapshot.rows), [snapshot]);
  if (snapshot.error !== undefined && snapshot.rows.length === 0)
    return <Problem error={snapshot.error} onRetry={() => void list.read()} />;
  if (snapshot.phase === 'first') return <Loading />;
  const zoom = from !== undefined && to !== undefined ? { from: Number(from), to: Number(to) } : undefined;
  const end = time === undefined ? now : (time.to ?? Math.max(now, ...time.lanes.flatMap(({ spans }) => spans.map((span) => span.from))));
  return (
    <div className="flex flex-col gap-4">
      {time === undefined ? (
        <p className="text-sm text-muted">The log no longer has how it began.</p>
      ) : (
        <>
          <dl className="flex flex-wrap gap-x-8 gap-y-2">
            <Sum name={time.to === undefined ? 'Open for' : 'Done in'}>{lasts(end - time.from)}</Sum>
            <Sum name="Worked on">{lasts(lasting(time.worked, end))}</Sum>
            <Sum name="Waited for others">{lasts(lasting(time.blocked, end))}</Sum>
            <Sum name="Waited for a person">{lasts(lasting(time.asked, end))}</Sum>
            <Sum name="Cost">{time.cost === 0 ? '–' : `$${time.cost.toFixed(2)}`}</Sum>
          </dl>
          <Chart
            lanes={time.lanes}
            from={time.from}
            to={end}
            zoom={zoom}
            label={`What ${id} was from ${new Date(time.from).toLocaleString()} on: ${time.lanes.map(({ name, spans }) => `${name} ${spans.map(({ label }) => label).join(', ')}`).join('; ')}`}
            onZoom={(next) =>
              void navigate({
                search: ({ from: _, to: __, ...rest }) =>
                  next === undefined ? rest : { ...rest, from: String(Math.round(next.from)), to: String(Math.round(next.to)) },
                replace: true,
              })
            }
          />
          {time.sessions.length > 0 && (
            <p className="flex flex-wrap gap-x-3 text-sm text-muted">
              Sessions that worked on it:
              {time.sessions.map((session) => (
                <Link
                  key={session}
                  to="/c/$city/sessions/$id"
                  params={{ city, id: session }}
                  className="font-mono text-xs text-accent underline"
                >
                  {visible(session)}
                </Link>
              ))}
            </p>
          )}
        </>
      )}
      {isCut(snapshot.rows.length) && <p className="text-sm text-muted">There are more events than are read: these are the newest.</p>}
      <div className="-mx-4 border-t border-line md:-mx-5">
        <EventList events={snapshot.rows} label={`Events of ${id}, the newest first`} />
      </div>
    </div>
  );
}
