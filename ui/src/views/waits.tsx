import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useRef, useState, type ReactNode } from 'react';
import { get, inCity, newKey, part, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { counted } from '../lib/counted.js';
import { useKeys } from '../lib/keys.js';
import { idsIn, visible } from '../lib/text.js';
import { useWishes } from '../lib/wishes.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { useActing } from '../parts/acting.js';
import { oldSince } from '../parts/as-of.js';
import { Age, Button, Confirm, Field, Modal, Problem, State, type Tone } from '../parts/basics.js';
import { useListKeys } from '../parts/list-keys.js';
import { List, ListRow, Which } from '../parts/list-view.js';
import { BeadLink } from '../parts/links.js';
import { CityPage } from '../parts/page.js';

type Wait = Schemas['WaitView'];
const MOST = 500;
const STATES: Readonly<Record<string, Tone>> = {
  pending: 'quiet',
  ready: 'good',
  failed: 'bad',
  expired: 'warn',
  canceled: 'quiet',
  closed: 'quiet',
};
const CHOICES: readonly (readonly [string, string])[] = [
  ['', 'Pending and ready'],
  ...['pending', 'ready', 'closed', 'failed', 'expired', 'canceled', 'all'].map(
    (one) => [one, one[0]!.toUpperCase() + one.slice(1)] as const,
  ),
];
const isOpen = ({ state }: Wait): boolean => state === 'pending' || state === 'ready';

/** What sessions wait for. */
export function Waits(): ReactNode {
  const { city } = useParams({ from: '/c/$city/waits' });
  const { state, wait, new: creating } = useSearch({ from: '/c/$city/waits' });
  const navigate = useNavigate({ from: '/c/$city/waits' });
  const query = { limit: MOST, ...(state === 'all' ? { all: true } : { state }) };
  const { data, error, asOf, again } = useCityRead(
    city,
    `waits ${state ?? ''}`,
    (signal) => get<Schemas['WaitListBody']>(inCity(city, 'waits'), { query, signal }),
    kinds('bead.', 'session.'),
  );
  const rows = data?.waits ?? [];
  const { failed, busy, act } = useActing(again);
  const [cancelling, setCancelling] = useState<Wait>();
  const not = useForbidden(needs.createWait, needs.readyWait, needs.cancelWait);
  const pick = (id: string | undefined, replace = false): void =>
    void navigate({ search: ({ wait: _, ...rest }) => (id === undefined ? rest : { ...rest, wait: id }), replace });
  const create = (on: boolean): void =>
    void navigate({ search: ({ new: _, ...rest }) => (on ? { ...rest, new: '1' } : rest), replace: true });
  const at = useListKeys(
    'Waits',
    rows.map(({ id }) => id),
    wait,
    pick,
  );
  useKeys('Waits of the city', not === undefined ? [{ keys: 'c', label: 'new wait', run: () => create(true) }] : []);
  const keys = useRef(new Map<string, string>());
  const ready = (id: string): void => {
    const key = keys.current.get(id) ?? newKey();
    keys.current.set(id, key);
    act(
      () => post(inCity(city, `wait/${part(id)}/ready`), undefined, { idempotencyKey: key }),
      () => {
        keys.current.delete(id);
        again();
      },
    );
  };
  return (
    <CityPage
      city={city}
      title="Waits"
      count={data === undefined ? undefined : data.capped ? `the newest ${rows.length}` : rows.length}
      error={failed ?? error}
      onRetry={again}
      asOf={oldSince({ error, asOf })}
      tools={
        <>
          <Which
            label="Which waits"
            value={state}
            options={CHOICES}
            onChange={(one) => void navigate({ search: (before) => ({ ...before, state: one }), replace: true })}
          />
          <Button look="primary" hotkey="c" not={not} onClick={() => create(true)}>
            New wait
          </Button>
        </>
      }
    >
      <List
        label="Waits"
        rows={data === undefined ? undefined : rows}
        failed={error !== undefined}
        none={[
          'Nobody waits',
          <p>A session that has nothing to do until some beads are closed registers a wait, and is told when they are.</p>,
        ]}
        filtered={
          state === undefined
            ? undefined
            : { title: 'No wait is like this', clear: 'Clear filters', onClear: () => void navigate({ search: {} }) }
        }
        row={(one) => (
          <ListRow key={one.id} kind="data-wait" id={one.id} here={one.id === at}>
            <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5">
              <button
                type="button"
                aria-expanded={one.id === wait}
                onClick={() => pick(one.id === wait ? undefined : one.id)}
                className="flex min-h-8 min-w-0 flex-1 basis-64 items-center gap-3 text-left"
              >
                <span className="font-mono text-xs text-muted">{one.id}</span>
                <State tone={STATES[one.state] ?? 'quiet'}>{one.state}</State>
                <span className="min-w-0 truncate">
                  {visible(one.session_name ?? one.session_id)}
                  {one.note !== undefined && one.note !== '' && one.id !== wait && (
                    <span className="text-muted"> · {visible(one.note)}</span>
                  )}
                </span>
              </button>
              <span className="flex items-center gap-2 text-sm text-muted">
                {one.kind === 'manual'
                  ? 'until it is told'
                  : `${one.dep_mode === 'any' ? 'any of' : ''} ${counted((one.dep_ids ?? []).length, 'bead')}`}
                {' · '}
                <Age at={one.created_at} />
              </span>
              {isOpen(one) ? (
                <span className="flex gap-1.5">
                  {one.state === 'pending' && (
                    <Button not={not} disabled={busy} onClick={() => ready(one.id)}>
                      Make ready
                    </Button>
                  )}
                  <Button look="bad" not={not} disabled={busy} onClick={() => setCancelling(one)}>
                    Cancel
                  </Button>
                </span>
              ) : (
                <Button not={not} disabled={busy} title="Registers it again, ready at once" onClick={() => ready(one.id)}>
                  Again
                </Button>
              )}
            </div>
            {one.id === wait && (
              <div className="flex flex-col gap-2 px-4 pb-3 text-sm">
                {(one.dep_ids ?? []).length > 0 && (
                  <p className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
                    <span className="text-muted">It waits for {one.dep_mode === 'any' ? 'any of' : 'all of'}</span>
                    {(one.dep_ids ?? []).map((id) => (
                      <BeadLink key={id} city={city} id={id} />
                    ))}
                  </p>
                )}
                {one.note !== undefined && one.note !== '' && <p className="words">{visible(one.note)}</p>}
                {one.expires_at !== undefined && isOpen(one) && (
                  <p className="text-muted">Until {new Date(one.expires_at).toLocaleString()}</p>
                )}
                {one.close_reason !== undefined && <p className="words text-muted">{visible(one.close_reason)}</p>}
                {one.last_error !== undefined && one.last_error !== '' && <p className="words text-bad">{visible(one.last_error)}</p>}
              </div>
            )}
          </ListRow>
        )}
      />
      {cancelling !== undefined && (
        <Confirm
          title={`Cancel ${cancelling.id}?`}
          action={`Cancel ${cancelling.id}`}
          onClose={() => setCancelling(undefined)}
          onYes={() => act(() => post(inCity(city, `wait/${part(cancelling.id)}/cancel`), { reason: 'canceled by an operator' }), again)}
        >
          {visible(cancelling.session_name ?? cancelling.session_id)} is not told. “Again” registers it anew.
        </Confirm>
      )}
      {creating !== undefined && (
        <Modal title={`New wait in ${city}`} onClose={() => create(false)}>
          <WaitForm
            city={city}
            onCancel={() => create(false)}
            onDone={(id) => {
              void navigate({ search: ({ new: _, ...rest }) => ({ ...rest, wait: id }), replace: true });
              again();
            }}
          />
        </Modal>
      )}
    </CityPage>
  );
}

interface FormProps {
  readonly city: string;
  readonly onDone: (id: string) => void;
  readonly onCancel: () => void;
}

function WaitForm({ city, onDone, onCancel }: FormProps): ReactNode {
  const [session, setSession] = useState('');
  const [beads, setBeads] = useState('');
  const [any, setAny] = useState(false);
  const [note, setNote] = useState('');
  const [timeout, setLimit] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const wishes = useWishes();
  const not = useForbidden(needs.createWait);
  const save = (): void => {
    setBusy(true);
    setError(undefined);
    const dep_ids = idsIn(beads);
    const body = {
      session: session.trim(),
      ...(dep_ids.length === 0 ? { kind: 'manual' } : { kind: 'deps', dep_ids, dep_mode: any ? 'any' : 'all' }),
      ...(note.trim() === '' ? {} : { note }),
      ...(timeout.trim() === '' ? {} : { timeout: timeout.trim() }),
    };
    const sent = wishes.send(body, (idempotencyKey) => post<Wait>(inCity(city, 'waits'), body, { idempotencyKey }));
    sent.then(
      ({ id }) => onDone(id),
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
      <Field label="Who waits" hint="A session by its name or alias, or an agent.">
        {(id) => (
          <input
            id={id}
            required
            autoFocus
            maxLength={190}
            value={session}
            onChange={(event) => setSession(event.target.value)}
            className="field"
          />
        )}
      </Field>
      <Field label="For the beads" hint="Ids, by commas or spaces. Without any it waits until somebody makes it ready.">
        {(id) => <input id={id} value={beads} onChange={(event) => setBeads(event.target.value)} className="field" />}
      </Field>
      <label className="flex min-h-8 items-center gap-2 text-sm">
        <input type="checkbox" checked={any} onChange={(event) => setAny(event.target.checked)} />
        One of them is enough
      </label>
      <Field label="What it is told then">
        {(id) => <textarea id={id} rows={2} value={note} onChange={(event) => setNote(event.target.value)} className="field" />}
      </Field>
      <Field label="At most" hint="A duration such as 2h; may stay empty.">
        {(id) => <input id={id} value={timeout} onChange={(event) => setLimit(event.target.value)} className="field" />}
      </Field>
      {error !== undefined && <Problem error={error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" look="primary" not={not} disabled={busy || session.trim() === ''}>
          Register the wait
        </Button>
      </div>
    </form>
  );
}
