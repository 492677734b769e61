import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { get, inCity, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Bead, LoggedEvent } from '../api/types.js';
import { useDrawn } from '../lib/drawn.js';
import { useKeys } from '../lib/keys.js';
import { idsIn, visible } from '../lib/text.js';
import { useWishes } from '../lib/wishes.js';
import { onFrame } from '../live/frame.js';
import { LiveList, pageOf, type Answered } from '../live/list.js';
import { Reader } from '../live/reader.js';
import { useCityList, type Made } from '../live/use-list.js';
import { oldSince } from '../parts/as-of.js';
import { Age, Button, Field, Modal, Problem } from '../parts/basics.js';
import { BeadState } from '../parts/bead-state.js';
import { ConvoyPane } from '../parts/convoy-pane.js';
import { useListKeys } from '../parts/list-keys.js';
import { countOf, Left, List, ListRow, Which } from '../parts/list-view.js';
import { CityPage } from '../parts/page.js';

const PAGE = 200;

interface Filter {
  readonly all: boolean;
  readonly stranded: boolean;
  readonly owned: boolean;
}

/** Convoys are beads: their events carry them. Which are stranded depends on their members, so that list is read again. */
function convoysOf(city: string, { all, stranded, owned }: Filter): Made<Bead> {
  const query = { ...(all ? { all: true } : {}), ...(stranded ? { stranded: true } : {}), ...(owned ? { owned: true } : {}) };
  const list: LiveList<Bead> = new LiveList<Bead>({
    read: async (cursor) => pageOf(await get<Answered<Bead>>(inCity(city, 'convoys'), { query: { ...query, cursor, limit: PAGE } })),
    id: ({ id }) => id,
    version: ({ revision = 0 }) => revision,
    matches: ({ status }) => all || status !== 'closed',
    order: (a, b) => b.created_at.localeCompare(a.created_at) || b.id.localeCompare(a.id),
    schedule: onFrame,
  });
  const reader = new Reader(() => list.read());
  const event = ({ type, payload }: LoggedEvent): void => {
    if (!type.startsWith('bead.')) return;
    const { bead } = payload as { bead?: Bead };
    // What a client has recorded has no revision, and says nothing of what is there.
    if (bead?.id === undefined || bead.revision === undefined) return;
    if (type === 'bead.deleted') list.remove(bead.id);
    else if (bead.issue_type === 'convoy' && !stranded && !owned) list.put(bead);
    else if (stranded || owned) reader.want('all');
  };
  return { list, event, stop: () => reader.stop() };
}

/** Pieces of work that travel together. */
export function Convoys(): ReactNode {
  const { city } = useParams({ from: '/c/$city/convoys' });
  const { show, convoy: open, new: creating } = useSearch({ from: '/c/$city/convoys' });
  const navigate = useNavigate({ from: '/c/$city/convoys' });
  const filter = { all: show === 'all', stranded: show === 'stranded', owned: show === 'owned' };
  const { list, snapshot } = useCityList(city, JSON.stringify(filter), () => convoysOf(city, filter));
  const { rows, total, phase, error } = snapshot;
  const { drawn, left, more } = useDrawn(rows);
  const pick = (id: string | undefined, replace = false): void =>
    void navigate({ search: ({ convoy: _, ...rest }) => (id === undefined ? rest : { ...rest, convoy: id }), replace });
  const create = (on: boolean): void =>
    void navigate({ search: ({ new: _, ...rest }) => (on ? { ...rest, new: '1' } : rest), replace: true });
  const at = useListKeys(
    'Convoys',
    drawn.map(({ id }) => id),
    open,
    pick,
  );
  const not = useForbidden(needs.createConvoy);
  useKeys('Convoys of the city', not === undefined ? [{ keys: 'c', label: 'new convoy', run: () => create(true) }] : []);
  return (
    <CityPage
      city={city}
      title="Convoys"
      count={phase === 'first' ? undefined : countOf(rows.length, total, snapshot.least)}
      error={error}
      onRetry={() => void list.read()}
      asOf={oldSince(snapshot)}
      pane={open === undefined ? undefined : <ConvoyPane key={open} city={city} id={open} onClose={() => pick(undefined)} />}
      paneLabel={`Convoy ${open ?? ''}`}
      paneRow={open}
      tools={
        <>
          <Which
            label="Which convoys"
            value={show}
            options={[
              ['', 'Open'],
              ['stranded', 'Stranded: work that nobody has'],
              ['owned', 'Owned: landed by hand'],
              ['all', 'All'],
            ]}
            onChange={(one) => void navigate({ search: (before) => ({ ...before, show: one }), replace: true })}
          />
          <Button look="primary" hotkey="c" not={not} onClick={() => create(true)}>
            New convoy
          </Button>
        </>
      }
    >
      <List
        label="Convoys"
        rows={phase === 'first' || (rows.length === 0 && (phase === 'reading' || error !== undefined)) ? undefined : drawn}
        failed={phase !== 'first' || error !== undefined}
        none={[
          'No open convoy',
          <p>A convoy holds beads that belong together, and closes with the last of them. Work that is slung gets one by itself.</p>,
        ]}
        filtered={
          show === undefined
            ? undefined
            : { title: 'No convoy fits this', clear: 'Show the open ones', onClear: () => void navigate({ search: {} }) }
        }
        row={(convoy) => (
          <ListRow key={convoy.id} kind="data-convoy" id={convoy.id} here={convoy.id === at}>
            <button
              type="button"
              onClick={() => pick(convoy.id)}
              className="grid w-full grid-cols-[4.5rem_1fr_auto] items-center gap-3 px-4 py-2.5 text-left hover:bg-raised @2xl:grid-cols-[4.5rem_1fr_8rem_6rem_3rem]"
            >
              <span className="truncate font-mono text-xs text-muted">{convoy.id}</span>
              <span className="truncate">{visible(convoy.title)}</span>
              <span className="hidden truncate text-sm text-muted @2xl:block">
                {convoy.assignee === undefined ? '' : visible(convoy.assignee)}
              </span>
              <span className="hidden @2xl:block">
                <BeadState bead={convoy} />
              </span>
              <span className="justify-self-end text-xs text-muted">
                <Age at={convoy.updated_at ?? convoy.created_at} />
              </span>
            </button>
          </ListRow>
        )}
      />
      <Left left={left} onMore={more} />
      {creating !== undefined && (
        <Modal title={`New convoy in ${city}`} onClose={() => create(false)} wide>
          <ConvoyForm
            city={city}
            onCancel={() => create(false)}
            onDone={(id) => void navigate({ search: ({ new: _, ...rest }) => ({ ...rest, convoy: id }), replace: true })}
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

function ConvoyForm({ city, onDone, onCancel }: FormProps): ReactNode {
  const [title, setTitle] = useState('');
  const [items, setItems] = useState('');
  const [owned, setOwned] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const wishes = useWishes();
  const not = useForbidden(needs.createConvoy);
  const save = (): void => {
    setBusy(true);
    setError(undefined);
    const body = { title: title.trim(), items: idsIn(items), ...(owned ? { owned: true } : {}) };
    const sent = wishes.send(body, (idempotencyKey) => post<Bead>(inCity(city, 'convoys'), body, { idempotencyKey }));
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
      <Field label="Title">
        {(id) => (
          <input
            id={id}
            required
            autoFocus
            maxLength={500}
            value={title}
            onChange={(event) => setTitle(event.target.value)}
            className="field"
          />
        )}
      </Field>
      <Field label="Beads in it" hint="Ids, by commas or spaces. More can be added later.">
        {(id) => <textarea id={id} rows={3} value={items} onChange={(event) => setItems(event.target.value)} className="field" />}
      </Field>
      <label className="flex min-h-8 items-center gap-2 text-sm">
        <input type="checkbox" checked={owned} onChange={(event) => setOwned(event.target.checked)} />
        Owned: it does not close with the last of them, somebody lands it
      </label>
      {error !== undefined && <Problem error={error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" look="primary" not={not} disabled={busy || title.trim() === ''}>
          Create the convoy
        </Button>
      </div>
    </form>
  );
}
