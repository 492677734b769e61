import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { get } from '../api/client.js';
import { useSigning } from '../api/info.js';
import type { Schemas } from '../api/types.js';
import { counted } from '../lib/counted.js';
import { visible } from '../lib/text.js';
import { Empty, State, type Tone } from '../parts/basics.js';
import { Ago, Facts, Frame, Row, Rows, Section, Shown } from './admin/frame.js';
import { useRead } from './admin/read.js';

type Runner = Schemas['Runner'];
const EVERY_MS = 5_000;
const TONES: Readonly<Record<Runner['state'], Tone>> = { active: 'good', draining: 'warn', stopped: 'quiet', lost: 'bad' };

/** Hosts that run agents, and what they hold. */
export function Runners(): ReactNode {
  const { all } = useSearch({ from: '/runners' });
  const navigate = useNavigate({ from: '/runners' });
  const signing = useSigning();
  const reading = useRead(
    `runners ${all ?? ''}`,
    (signal) => get<Schemas['ListBodyRunner']>('/v0/runners', { query: { all: all === undefined ? undefined : true }, signal }),
    { everyMs: EVERY_MS },
  );
  const runners = reading.data?.items ?? [];
  const active = runners.filter(({ state }) => state === 'active');
  const room = active.reduce((sum, { capacity, sessions }) => sum + Math.max(0, capacity - sessions), 0);
  const processes = signing.kind === 'in' ? (signing.info.deployment?.processes ?? []) : [];
  return (
    <Frame
      title="Runners"
      about={reading.data === undefined ? 'Hosts that run agents' : `${active.length} at work, with room for ${room} more sessions`}
      actions={
        <label className="flex min-h-8 items-center gap-2 text-sm">
          <input
            type="checkbox"
            checked={all !== undefined}
            onChange={(event) => void navigate({ search: event.target.checked ? { all: '1' } : {}, replace: true })}
          />
          Also those that have ended
        </label>
      }
    >
      <Shown of={reading}>
        {() => (
          <>
            {runners.length === 0 && (
              <Empty title="No runner">
                <p>
                  Sessions start when there is one: a process that is <code>all</code> or <code>worker</code>.
                </p>
              </Empty>
            )}
            <Rows label="Runners">
              {runners.map((runner) => (
                <OneRunner key={runner.id} runner={runner} />
              ))}
            </Rows>
          </>
        )}
      </Shown>
      {processes.length > 0 && (
        <Section title="Processes of the service">
          <ul className="divide-y divide-line rounded-xl border border-line bg-panel">
            {processes.map(({ id, host, role, version }) => (
              <li key={id} className="flex flex-wrap items-baseline gap-x-4 px-4 py-2 text-sm">
                <span className="w-16 font-medium">{role}</span>
                <span className="words">{visible(host)}</span>
                <code className="words text-xs text-muted">{visible(id)}</code>
                <span className="ml-auto text-muted">{visible(version)}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </Frame>
  );
}

function OneRunner({ runner }: { runner: Runner }): ReactNode {
  const { id, host, state, sessions, live, capacity, isolation, limits, lease_age_s, registered_at, ended_at } = runner;
  return (
    <Row name={id}>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5">
        <div className="min-w-0 flex-1 basis-56">
          <h2 className="words font-semibold">{visible(host)}</h2>
          <code className="words text-xs text-muted">{visible(id)}</code>
        </div>
        <State tone={TONES[state]}>{state}</State>
      </div>
      <div className="flex items-center gap-3 text-sm">
        <meter
          aria-label={`Sessions of ${host}`}
          min={0}
          max={Math.max(1, capacity)}
          high={capacity * 0.9}
          value={Math.min(sessions, capacity)}
          className="h-3 w-40 max-w-full"
        />
        <span className="tabular-nums">
          {sessions} of {counted(capacity, 'session')}, {counted(live, 'answers', 'answer')}
        </span>
      </div>
      <Facts
        facts={[
          ['Heard of', ended_at === undefined ? `${lease_age_s.toFixed(0)} s ago` : undefined],
          ['Isolation', isolation === 'none' ? <State tone="warn">none: agents can do what the service can</State> : isolation],
          [
            'Limits',
            limits === undefined
              ? undefined
              : `memory ${limits.memory}, processes ${limits.processes}, processor ${limits.cpu}, files ${limits.files}`,
          ],
          ['Since', <Ago key="since" at={registered_at} />],
          ['Ended', ended_at === undefined ? undefined : <Ago at={ended_at} />],
        ]}
      />
    </Row>
  );
}
