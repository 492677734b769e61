import { useState, type ReactNode } from 'react';
import { get, inCity, part, post, request } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { LoggedEvent, Schemas } from '../api/types.js';
import { serviceClock } from '../lib/service-clock.js';
import { visible } from '../lib/text.js';
import { useWishes } from '../lib/wishes.js';
import { useCityRead, type Read } from '../live/use-read.js';
import { useActing } from './acting.js';
import { Age, Button, Problem, State } from './basics.js';

type Queued = Schemas['SessionMessageRecord'];

/** What is on its way to a session. Unconfirmed ones stay for as long as somebody might still want to send them again. */
export function useQueue(city: string, id: string): Read<readonly Queued[]> {
  return useCityRead<readonly Queued[]>(
    city,
    `queue ${id}`,
    async (signal) => {
      const { items } = await get<Schemas['ListBodySessionMessage']>(inCity(city, `session/${part(id)}/messages`), {
        query: { status: 'queued,in_flight,unconfirmed', limit: 50 },
        signal,
      });
      return [...items].reverse();
    },
    ({ type, session_id, subject, payload }: LoggedEvent) =>
      /^session\.|^worker\.operation$|^request\./.test(type) && (session_id === id || subject === id || payload.session_id === id),
  );
}

const HOUR_MS = 3_600_000;

interface Props {
  readonly city: string;
  readonly id: string;
  readonly queue: Read<readonly Queued[]>;
}

/** Messages that wait to be read, the next one first; they can be taken back. */
export function Queue({ city, id, queue }: Props): ReactNode {
  const { failed, busy, act } = useActing(queue.again);
  const wishes = useWishes();
  const not = useForbidden(needs.sendSessionMessage, needs.cancelSessionMessage);
  const path = inCity(city, `session/${part(id)}/messages`);
  // It stays unconfirmed when it was sent again, which is another message: once is enough.
  const [sent, setSent] = useState<ReadonlySet<string>>(new Set());
  const shown = (queue.data ?? []).filter(
    ({ id: one, status, ended_at: at }) =>
      !sent.has(one) && (status !== 'unconfirmed' || at === undefined || serviceClock.now() - new Date(at).getTime() < HOUR_MS),
  );
  if (shown.length === 0 && failed === undefined) return null;
  return (
    <div className="flex flex-col gap-1">
      {failed !== undefined && <Problem error={failed} />}
      <ul aria-label="Messages on their way" className="flex max-h-40 flex-col gap-1 overflow-auto">
        {shown.map((one) => (
          <li key={one.id} data-queued={one.status} className="flex items-center gap-3 rounded-md bg-raised px-3 py-1 text-sm">
            <State tone={one.status === 'unconfirmed' ? 'warn' : one.status === 'in_flight' ? 'accent' : 'quiet'}>
              {one.status === 'in_flight' ? 'is being told' : one.status === 'queued' ? 'waits' : 'not confirmed'}
            </State>
            <span className="min-w-0 flex-1 truncate">{visible(one.message)}</span>
            <span className="shrink-0 text-xs text-muted">
              {visible(one.sender)} · <Age at={one.created_at} />
            </span>
            {one.status === 'queued' && (
              <Button not={not} onClick={() => act(() => request('DELETE', `${path}/${part(one.id)}`, {}), queue.again)}>
                Take back
              </Button>
            )}
            {one.status === 'unconfirmed' && (
              <Button
                not={not}
                disabled={busy}
                title="Its process was lost: the agent may have read it already, and would read it twice"
                onClick={() =>
                  act(
                    () => wishes.send(one.id, (idempotencyKey) => post(path, { message: one.message }, { idempotencyKey })),
                    () => {
                      setSent((before) => new Set(before).add(one.id));
                      queue.again();
                    },
                    `send ${one.id}`,
                  )
                }
              >
                Send again
              </Button>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
