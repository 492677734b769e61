import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useRef, useState, type ReactNode } from 'react';
import { get, inCity, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { agentPath } from '../lib/agent-path.js';
import { switchOf, switchWords } from '../lib/agent-switch.js';
import { useDrawn } from '../lib/drawn.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { useWishes } from '../lib/wishes.js';
import { done } from '../live/undo.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { useActing } from '../parts/acting.js';
import { AgentState } from '../parts/agent-state.js';
import { oldSince } from '../parts/as-of.js';
import { Button, Field, Modal, Problem } from '../parts/basics.js';
import { useListKeys } from '../parts/list-keys.js';
import { countOf, Filter, Left, List, ListRow, Which } from '../parts/list-view.js';
import { DriftCard } from '../parts/drift.js';
import { BeadLink } from '../parts/links.js';
import { CityPage } from '../parts/page.js';

type Agent = Schemas['AgentResponse'];
const MOST = 2_000;

/** The roster: who there is, what each does, and whether it may. */
export function Agents(): ReactNode {
  const { city } = useParams({ from: '/c/$city/agents' });
  const { q = '', running, new: creating } = useSearch({ from: '/c/$city/agents' });
  const navigate = useNavigate({ from: '/c/$city/agents' });
  const { data, error, asOf, again } = useCityRead(
    city,
    `agents ${running ?? ''}`,
    (signal) => get<Schemas['ListBodyAgentResponse']>(inCity(city, 'agents'), { query: { limit: MOST, running }, signal }),
    kinds('agent.', 'session.', 'config.', 'worker.operation', 'bead.closed', 'bead.updated'),
  );
  const all = data?.items ?? [];
  const rows = useMemo(() => {
    const words = q.toLowerCase();
    return all.filter(({ name, pool, provider, description }) =>
      [name, pool, provider, description].some((text) => text?.toLowerCase().includes(words) === true),
    );
  }, [all, q]);
  const { failed, busy, act } = useActing(again);
  const not = useForbidden(needs.actOnAgent, needs.actOnRigAgent);
  const configure = useForbidden(needs.createAgent);
  const create = (on: boolean): void =>
    void navigate({ search: ({ new: _, ...rest }) => (on ? { ...rest, new: '1' } : rest), replace: true });
  const { drawn, left, more } = useDrawn(rows);
  const at = useListKeys(
    'Agents',
    drawn.map(({ name }) => name),
    undefined,
    (name) => {
      if (name !== undefined) void navigate({ to: '/c/$city/agents/$name', params: { city, name } });
    },
  );
  const filter = useRef<HTMLInputElement>(null);
  useKeys('Agents of the city', [
    ...(configure === undefined ? [{ keys: 'c', label: 'new agent', run: () => create(true) }] : []),
    { keys: '/', label: 'filter', run: () => filter.current?.focus() },
  ]);
  const suspend = (agent: Agent): void => {
    const { suspended } = agent;
    const name = switchOf(agent);
    act(
      () => post(agentPath(city, name, suspended ? 'resume' : 'suspend')),
      () => {
        again();
        done(suspended ? `${name} may run again` : `${name} is suspended`, () =>
          post(agentPath(city, name, suspended ? 'suspend' : 'resume')).then(again),
        );
      },
    );
  };
  return (
    <CityPage
      city={city}
      title="Agents"
      count={data === undefined ? undefined : countOf(rows.length, data.total)}
      error={failed ?? error}
      onRetry={again}
      asOf={oldSince({ error, asOf })}
      tools={
        <>
          <Which
            label="Which agents"
            value={running}
            options={[
              ['', 'All'],
              ['true', 'With a process'],
              ['false', 'Without one'],
            ]}
            onChange={(one) => void navigate({ search: (before) => ({ ...before, running: one }), replace: true })}
          />
          <Filter
            label="Filter agents"
            value={q}
            box={filter}
            onChange={(words) => void navigate({ search: (before) => ({ ...before, q: words }), replace: true })}
          />
          <Button look="primary" hotkey="c" not={configure} onClick={() => create(true)}>
            New agent
          </Button>
        </>
      }
    >
      <DriftCard city={city} />
      <List
        label="Agents"
        rows={data === undefined ? undefined : drawn}
        failed={error !== undefined}
        none={[
          'This city has no agents',
          <>
            <p>An agent is a role with a provider: it takes ready work, and can be talked to.</p>
            <Button look="primary" not={configure} onClick={() => create(true)}>
              Write the first one
            </Button>
          </>,
        ]}
        filtered={
          data === undefined || data.total === 0
            ? undefined
            : { title: `0 of ${data.total}`, clear: 'Clear filters', onClear: () => void navigate({ search: {} }) }
        }
        row={(agent) => (
          <ListRow
            key={agent.name}
            kind="data-agent"
            id={agent.name}
            here={agent.name === at}
            className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2"
          >
            <span className="min-w-0 flex-1 basis-full @xl:basis-48">
              <Link to="/c/$city/agents/$name" params={{ city, name: agent.name }} className="block truncate font-medium hover:underline">
                {visible(agent.name)}
              </Link>
              <span className="block truncate text-xs text-muted">
                {[
                  agent.provider,
                  agent.model,
                  agent.pool === undefined ? undefined : `of ${agent.pool}`,
                  agent.pack === undefined || agent.pack === '' ? undefined : `pack ${agent.pack}`,
                  agent.context_pct === undefined ? undefined : `context ${agent.context_pct}%`,
                ]
                  .filter((one) => one !== undefined && one !== '')
                  .map((one) => visible(one!))
                  .join(' · ')}
              </span>
              {!agent.available && agent.unavailable_reason !== undefined && (
                <span className="words block text-xs text-bad">{visible(agent.unavailable_reason)}</span>
              )}
              {agent.rest?.detail !== undefined && <span className="words block text-xs text-warn">{visible(agent.rest.detail)}</span>}
            </span>
            {agent.active_bead !== undefined && agent.active_bead !== '' && <BeadLink city={city} id={agent.active_bead} />}
            <span className="w-28 flex-1 @xl:flex-none">
              <AgentState agent={agent} />
            </span>
            <span className="flex justify-end @xl:w-28">
              <Button not={not} disabled={busy} onClick={() => suspend(agent)}>
                {switchWords(agent)}
              </Button>
            </span>
          </ListRow>
        )}
      />
      <Left left={left} onMore={more} />
      {creating !== undefined && (
        <Modal title={`New agent in ${city}`} onClose={() => create(false)} wide>
          <AgentForm
            city={city}
            onCancel={() => create(false)}
            onDone={(name) => {
              done(`${name} is written`);
              void navigate({ to: '/c/$city/agents/$name', params: { city, name } });
            }}
          />
        </Modal>
      )}
    </CityPage>
  );
}

interface FormProps {
  readonly city: string;
  readonly onDone: (name: string) => void;
  readonly onCancel: () => void;
}

function AgentForm({ city, onDone, onCancel }: FormProps): ReactNode {
  const [name, setName] = useState('');
  const [provider, setProvider] = useState('');
  const [description, setDescription] = useState('');
  const [prompt, setPrompt] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const wishes = useWishes();
  const not = useForbidden(needs.createAgent);
  const save = (): void => {
    setBusy(true);
    setError(undefined);
    const body = {
      name: name.trim(),
      ...(provider.trim() === '' ? {} : { provider: provider.trim() }),
      ...(description.trim() === '' ? {} : { description: description.trim() }),
      ...(prompt.trim() === '' ? {} : { prompt }),
    };
    const sent = wishes.send(body, (idempotencyKey) =>
      post<{ name?: string; agent?: string }>(inCity(city, 'agents'), body, { idempotencyKey }),
    );
    sent.then(
      (made) => onDone(made.name ?? made.agent ?? name.trim()),
      (refused: unknown) => {
        setError(refused);
        setBusy(false);
      },
    );
  };
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Name">
          {(id) => (
            <input
              id={id}
              required
              autoFocus
              maxLength={190}
              value={name}
              onChange={(event) => setName(event.target.value)}
              className="field"
            />
          )}
        </Field>
        <Field label="Provider (may stay empty)" hint="Empty: that of the city.">
          {(id) => <input id={id} value={provider} onChange={(event) => setProvider(event.target.value)} className="field" />}
        </Field>
      </div>
      <Field label="What it is for">
        {(id) => <input id={id} value={description} onChange={(event) => setDescription(event.target.value)} className="field" />}
      </Field>
      <Field label="What it is told at first">
        {(id) => <textarea id={id} rows={6} value={prompt} onChange={(event) => setPrompt(event.target.value)} className="field" />}
      </Field>
      {error !== undefined && <Problem error={error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" look="primary" not={not} disabled={busy || name.trim() === ''}>
          Write the agent
        </Button>
      </div>
    </form>
  );
}
