import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { get, inCity, post, request } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { LoggedEvent, Schemas } from '../api/types.js';
import { agentPath } from '../lib/agent-path.js';
import { startOf, startWords } from '../lib/agent-start.js';
import { switchOf, switchWords } from '../lib/agent-switch.js';
import { useHere } from '../lib/here.js';
import { useKeys } from '../lib/keys.js';
import { sessionsOfAgent } from '../lib/sessions-of.js';
import { plain, visible } from '../lib/text.js';
import { useWishes } from '../lib/wishes.js';
import { useAsking } from '../live/asking.js';
import { follow, tellOf, whyOf } from '../live/operations.js';
import { sessionsOf } from '../live/sessions.js';
import { done } from '../live/undo.js';
import { useCityList } from '../live/use-list.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { useActing } from '../parts/acting.js';
import { AgentState } from '../parts/agent-state.js';
import { oldSince } from '../parts/as-of.js';
import { Age, Button, Confirm, Empty, Problem, State } from '../parts/basics.js';
import { AgentLink, BeadLink } from '../parts/links.js';
import { CityPage, Fact, Facts, Loading, Rows, Tabs } from '../parts/page.js';
import { nameOf, SessionState } from '../parts/session-state.js';
import { ValuesOfAgent } from './config/values-of-agent.js';

const TABS = [
  ['sessions', 'Sessions'],
  ['output', 'Output'],
  ['config', 'Configuration'],
] as const;
type Tab = (typeof TABS)[number][0];

/** One agent: how it is, its sessions, what it says, and where what it is was written. */
export function AgentPage(): ReactNode {
  const { city, name } = useParams({ from: '/c/$city/agents/$name' });
  const { tab: asked } = useSearch({ from: '/c/$city/agents/$name' });
  const navigate = useNavigate({ from: '/c/$city/agents/$name' });
  const tab: Tab = TABS.find(([one]) => one === asked)?.[0] ?? 'sessions';
  const {
    data: agent,
    error,
    asOf,
    again,
  } = useCityRead(
    city,
    `agent ${name}`,
    (signal) => get<Schemas['AgentResponse']>(agentPath(city, name), { signal }),
    kinds('agent.', 'session.', 'config.', 'worker.operation'),
  );
  const { failed, busy, act } = useActing(again);
  const wishes = useWishes();
  const here = useHere();
  const [deleting, setDeleting] = useState(false);
  const not = useForbidden(needs.actOnAgent, needs.actOnRigAgent, needs.createSession);
  const configure = useForbidden(needs.deleteAgent, needs.deleteRigAgent);
  const switched = agent === undefined ? name : switchOf(agent);
  const suspend = (suspended: boolean): void =>
    act(
      () => post(agentPath(city, switched, suspended ? 'suspend' : 'resume')),
      () => {
        again();
        done(suspended ? `${switched} is suspended` : `${switched} may run again`, () =>
          post(agentPath(city, switched, suspended ? 'resume' : 'suspend')).then(again),
        );
      },
    );
  const started = agent === undefined ? name : startOf(agent);
  const start = (): void =>
    act(
      async () => {
        const isStillHere = here();
        const { request_id } = await wishes.send(['start', city, started], (idempotencyKey) =>
          post<{ request_id: string }>(inCity(city, 'sessions'), { kind: 'agent', name: started }, { idempotencyKey }),
        );
        const end = await follow(`Start a session of ${started}`, request_id);
        if (end.type === 'request.failed') throw new Error(whyOf(end));
        const { id } = end.payload.session as { id: string };
        if (!isStillHere()) return tellOf(request_id);
        void navigate({ to: '/c/$city/sessions/$id', params: { city, id } });
      },
      undefined,
      `start ${city}/${started}`,
    );
  useKeys('This agent', [
    ...(agent === undefined || not !== undefined || busy ? [] : [{ keys: 'c', label: startWords(agent).toLowerCase(), run: start }]),
    { keys: 'u', label: 'back to the agents', run: () => void navigate({ to: '/c/$city/agents', params: { city }, search: {} }) },
  ]);
  return (
    <CityPage
      city={city}
      title={visible(name)}
      count={agent === undefined ? undefined : <AgentState agent={agent} />}
      error={failed ?? error}
      onRetry={again}
      asOf={oldSince({ error, asOf })}
      tools={
        agent !== undefined && (
          <>
            <Button not={not} disabled={busy} onClick={() => suspend(!agent.suspended)}>
              {switchWords(agent)}
            </Button>
            {agent.suspended_runtime !== undefined && agent.suspended_runtime !== null && (
              <Button
                not={not}
                disabled={busy}
                title="The files count again"
                onClick={() => act(() => post(agentPath(city, switched, 'reset')), again)}
              >
                As written
              </Button>
            )}
            {!agent.pack_derived && agent.pool === undefined && (
              <Button look="bad" not={configure} disabled={busy} onClick={() => setDeleting(true)}>
                Delete
              </Button>
            )}
            <Button look="primary" hotkey="c" not={not} disabled={busy} onClick={start}>
              {startWords(agent)}
            </Button>
          </>
        )
      }
    >
      {agent === undefined && error === undefined && <Loading />}
      {agent !== undefined && (
        <>
          <div className="rounded-xl border border-line bg-panel p-4">
            <Facts>
              <Fact name="What it is for">{agent.description === undefined ? undefined : visible(agent.description)}</Fact>
              <Fact name="Provider">
                {[agent.display_name ?? agent.provider, agent.model]
                  .filter(Boolean)
                  .map((one) => visible(one!))
                  .join(' · ')}
              </Fact>
              <Fact name="Works on">
                {agent.active_bead === undefined || agent.active_bead === '' ? undefined : <BeadLink city={city} id={agent.active_bead} />}
              </Fact>
              <Fact name="Member of">{agent.pool === undefined ? undefined : <AgentLink city={city} name={agent.pool} />}</Fact>
              <Fact name="Rig">{agent.rig}</Fact>
              <Fact name="Pack">{agent.pack}</Fact>
              <Fact name="Cannot be used">{agent.available ? undefined : (agent.unavailable_reason ?? 'it is not available')}</Fact>
              <Fact name="Rests">{agent.rest === undefined ? undefined : visible(agent.rest.detail ?? agent.rest.reason)}</Fact>
              <Fact name="Suspended">
                {agent.suspended_runtime === undefined || agent.suspended_runtime === null
                  ? undefined
                  : `${agent.suspended_runtime ? 'suspended' : 'resumed'} by somebody; the files say ${agent.suspended_declared === true ? 'suspended' : 'not suspended'}`}
              </Fact>
            </Facts>
          </div>
          <Tabs
            label="Readings of the agent"
            tabs={TABS}
            value={tab}
            onChange={(next) => void navigate({ search: next === 'sessions' ? {} : { tab: next }, replace: true })}
          />
          {tab === 'sessions' && <AgentSessions city={city} agent={agent} />}
          {tab === 'output' && <Output city={city} name={name} />}
          {tab === 'config' && <ValuesOfAgent city={city} name={agent.pool ?? name} />}
        </>
      )}
      {deleting && (
        <Confirm
          title={`Delete ${name}?`}
          action={`Delete ${name}`}
          onClose={() => setDeleting(false)}
          onYes={() =>
            act(
              () => request('DELETE', agentPath(city, name), {}),
              () => {
                done(`${name} is deleted`);
                void navigate({ to: '/c/$city/agents', params: { city }, search: {} });
              },
            )
          }
        >
          It is taken out of the configuration of the city. Its sessions end; what they said stays.
        </Confirm>
      )}
    </CityPage>
  );
}

const SESSIONS = 200;
/** Of a pool, of which a member has some. */
const SESSIONS_OF_POOL = 1_000;

function AgentSessions({ city, agent }: { readonly city: string; readonly agent: Schemas['AgentResponse'] }): ReactNode {
  const { name, pool } = agent;
  // The service knows them by what they were made of, which is the pool.
  const template = pool ?? name;
  const { list, snapshot } = useCityList(city, `sessions of ${template}, of ${name}`, () =>
    sessionsOf(city, { state: 'all', template, most: pool === undefined ? SESSIONS : SESSIONS_OF_POOL }),
  );
  const { phase, error, cut } = snapshot;
  const asking = useAsking(city);
  const rows = sessionsOfAgent(snapshot.rows, agent).slice(0, SESSIONS);
  if (phase === 'first') return error === undefined ? <Loading rows={3} /> : <Problem error={error} onRetry={() => void list.read()} />;
  if (rows.length === 0) return <Empty title={cut ? 'It has had no session of late' : 'It has had no session yet'} />;
  return (
    <Rows label={`Sessions of ${name}`}>
      {rows.map((session) => (
        <li key={session.id}>
          <Link
            to="/c/$city/sessions/$id"
            params={{ city, id: session.id }}
            className="grid grid-cols-[1fr_auto_3rem] items-center gap-4 px-4 py-2 hover:bg-raised"
          >
            <span className="min-w-0 truncate">
              {visible(nameOf(session))} <span className="text-xs text-muted">{session.id}</span>
            </span>
            <SessionState session={session} asks={asking.has(session.id)} />
            <span className="justify-self-end text-xs text-muted">
              <Age at={session.last_active ?? session.created_at} />
            </span>
          </Link>
        </li>
      ))}
    </Rows>
  );
}

function Output({ city, name }: { readonly city: string; readonly name: string }): ReactNode {
  const { data, error, again } = useCityRead(
    city,
    `output of ${name}`,
    (signal) => get<Schemas['AgentOutputResponse']>(agentPath(city, name, 'output'), { signal }),
    ({ type }: LoggedEvent) => /^session\.|^worker\.operation$/.test(type),
  );
  if (data === undefined) return error === undefined ? <Loading rows={3} /> : <Problem error={error} onRetry={again} />;
  const turns = data.turns ?? [];
  if (turns.length === 0) return <Empty title="It has said nothing yet" />;
  return (
    <div className="flex flex-col gap-3">
      {data.session_id !== undefined && (
        <p className="text-sm text-muted">
          Of{' '}
          <Link to="/c/$city/sessions/$id" params={{ city, id: data.session_id }} className="text-accent underline">
            {data.session_id}
          </Link>
          , after its last turn: the session has it while it is said.
        </p>
      )}
      <ol className="flex flex-col divide-y divide-line rounded-xl border border-line bg-panel">
        {turns.map((turn, i) => (
          <li key={turn.id ?? i} className="flex flex-col gap-1 px-4 py-2">
            <p className="flex gap-2 text-xs text-muted">
              {visible(turn.role)} {turn.status !== undefined && turn.status !== '' && <State tone="quiet">{turn.status}</State>}
            </p>
            <p className="words">{visible(plain(turn.text))}</p>
          </li>
        ))}
      </ol>
    </div>
  );
}
