import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore, type ReactNode } from 'react';
import { inCity, part, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Ask, InboxItem } from '../api/types.js';
import { alikeOf } from '../lib/alike.js';
import { useDrawn } from '../lib/drawn.js';
import { useKeys } from '../lib/keys.js';
import { useMoves } from '../lib/moves.js';
import { idOf } from '../lib/mutes.js';
import { countWords } from '../lib/waiting.js';
import { loading } from '../lib/part.js';
import { attentionOf } from '../live/attention.js';
import { inbox, useInbox } from '../live/inbox.js';
import { setNotices, useNotices } from '../live/notices.js';
import { useFleet } from '../live/overview.js';
import { asks, cities, readAsks, readCities } from '../live/supervisor.js';
import { done } from '../live/undo.js';
import { useWaiting } from '../live/waiting.js';
import { useActing } from '../parts/acting.js';
import { oldSince } from '../parts/as-of.js';
import { AskCard } from '../parts/ask-card.js';
import { AttentionList } from '../parts/attention.js';
import { Button, Empty, Problem } from '../parts/basics.js';
import { FirstRun } from '../parts/first-run.js';
import { endOf, InboxItems, placeOf } from '../parts/inbox-items.js';
import { Which } from '../parts/list-view.js';
import { Muted } from '../parts/muted.js';

// What is opened now and then is loaded then.
const Alike = lazy(loading(async () => ({ default: (await import('../parts/alike.js')).Alike })));
const MuteForm = lazy(loading(async () => ({ default: (await import('../parts/mute-form.js')).MuteForm })));

const KINDS = [
  ['', 'Everything'],
  ['question', 'Questions'],
  ['bead', 'Beads'],
  ['mail', 'Mail'],
  ['look', 'To look at'],
] as const;

/** Each card has buttons, what a tool would do, and an age: more of them than these at once would hold up the page. */
const CARDS = 50;

/** What needs a person now, over all cities, the oldest first. */
export function Inbox(): ReactNode {
  const snapshot = useSyncExternalStore(asks.subscribe, asks.snapshot);
  const fleet = useSyncExternalStore(cities.subscribe, cities.snapshot);
  const kept = useInbox();
  const waiting = useWaiting();
  const { city, kind, alike: together, mute: muting, muted } = useSearch({ from: '/' });
  const navigate = useNavigate({ from: '/' });
  const set = (next: Partial<Record<'city' | 'kind' | 'alike' | 'mute' | 'muted', string | undefined>>, replace = true): void =>
    void navigate({ to: '/', search: (before) => ({ ...before, ...next }), replace });
  const here = (one: { readonly city: string }, of: string): boolean => (city === undefined || one.city === city) && (kind ?? of) === of;
  const rows = useMemo(() => waiting.asks.filter((ask) => here(ask, 'question')), [waiting, city, kind]);
  const beads = useMemo(() => waiting.items.filter((item) => item.kind === 'bead' && here(item, 'bead')), [waiting, city, kind]);
  const mail = useMemo(() => waiting.items.filter((item) => item.kind === 'mail' && here(item, 'mail')), [waiting, city, kind]);
  const [chosen, choose] = useState<string>();
  const { drawn, left, more: drawMore } = useDrawn(rows, CARDS);
  const all: readonly (Ask | InboxItem)[] = useMemo(() => [...drawn, ...beads, ...mail], [rows, drawn.length, beads, mail]);
  const order = all.map(idOf);
  const { moves, list: column } = useMoves(order.slice(0, drawn.length), 'top');
  // Whatever was answered elsewhere leaves; what follows it is focused.
  const place = useRef(0);
  const at = Math.max(
    0,
    chosen !== undefined && order.includes(chosen) ? order.indexOf(chosen) : Math.min(place.current, order.length - 1),
  );
  useLayoutEffect(() => {
    place.current = at;
  });
  const move = (by: number) => (): void => {
    const next = order[Math.max(0, Math.min(order.length - 1, at + by))];
    if (next === undefined) return;
    choose(next);
    document.querySelector(`[data-row="${CSS.escape(next)}"]`)?.scrollIntoView({ block: 'nearest' });
  };
  const focused = all[at];
  const focusedAsk = focused !== undefined && 'request_id' in focused ? focused : undefined;
  const focusedItem = focused !== undefined && 'since' in focused ? focused : undefined;
  const { failed, act } = useActing(inbox.touch);
  const not = useForbidden(needs.closeBead, needs.reopenBead, needs.markMailRead, needs.markMailUnread, needs.respondSession);
  const end = (item: InboxItem): void => {
    if (not !== undefined) return;
    const [path, back, said] =
      item.kind === 'bead'
        ? ([`bead/${part(item.id)}/close`, `bead/${part(item.id)}/reopen`, 'Closed'] as const)
        : ([`mail/${part(item.id)}/read`, `mail/${part(item.id)}/mark-unread`, 'Read'] as const);
    act(
      () => post(inCity(item.city, path), {}),
      () => {
        inbox.touch();
        done(`${said}: ${item.id}`, () => post(inCity(item.city, back)).then(inbox.touch));
      },
    );
  };
  /** Who opens a message has read it. */
  const opened = (item: InboxItem): void => {
    if (item.kind === 'mail' && not === undefined) act(() => post(inCity(item.city, `mail/${part(item.id)}/read`), {}), inbox.touch);
  };
  const groupOf = useMemo(() => alikeOf(rows), [rows]);
  const answerAlike = (ask: Ask): void => {
    if (groupOf(ask).length > 1) set({ alike: idOf(ask) }, false);
  };
  useKeys('Inbox', [
    { keys: 'j', label: 'next', repeats: true, run: move(1) },
    { keys: 'k', label: 'previous', repeats: true, run: move(-1) },
    {
      keys: 'o',
      label: focusedItem === undefined ? 'open its session' : 'open it',
      run: () => {
        if (focusedAsk !== undefined)
          void navigate({ to: '/c/$city/sessions/$id', params: { city: focusedAsk.city, id: focusedAsk.session_id } });
        else if (focusedItem !== undefined) {
          opened(focusedItem);
          void navigate(placeOf(focusedItem) as { to: '/' });
        }
      },
    },
    ...(focused === undefined ? [] : [{ keys: 'm', label: 'mute', run: () => set({ mute: idOf(focused) }, false) }]),
    ...(focusedAsk === undefined ? [] : [{ keys: 'a', label: 'answer what asks the same', run: () => answerAlike(focusedAsk) }]),
    ...(focusedItem === undefined ? [] : [{ keys: 'e', label: endOf(focusedItem).toLowerCase(), run: () => end(focusedItem) }]),
  ]);
  const known = snapshot.phase !== 'first';
  const numbers = useFleet();
  // One of them is enough: where one cannot be read the others cannot, most often.
  const parts = [
    [fleet, readCities],
    [kept, inbox.touch],
    [numbers, numbers.again],
  ] as const;
  const wrong = parts.find(([{ error }]) => error !== undefined);
  const rest = useMemo(
    () => attentionOf(numbers.data?.cities.values() ?? []).filter((one) => here(one, 'look')),
    [numbers.data, city, kind],
  );
  const notices = useNotices();
  // What was opened stays as it was: answered ones leave the inbox, and not the dialog that tells of them.
  const group = useRef<{ readonly id: string; readonly asks: readonly Ask[] }>(undefined);
  if (group.current?.id !== together) {
    const first = rows.find((ask) => idOf(ask) === together);
    const same = first === undefined ? [] : groupOf(first);
    group.current = together === undefined || same.length < 2 ? undefined : { id: together, asks: same };
  }
  const mute = muting === undefined ? undefined : all.find((one) => idOf(one) === muting);
  const filtered = city !== undefined || kind !== undefined;
  const counted = { question: rows.length, bead: beads.length, mail: mail.length };
  const shown = rows.length + beads.length + mail.length;
  // What was not read of a list is counted where nothing is filtered.
  const more = (of: 'bead' | 'mail'): number => (city === undefined ? Math.max(0, waiting.counts[of] - counted[of]) : 0);
  const list = { at: focusedItem === undefined ? undefined : idOf(focusedItem), not, onOpen: opened, onEnd: end };
  return (
    <div className="h-full overflow-auto">
      <div ref={column} className="mx-auto flex max-w-3xl flex-col gap-3 p-4 md:p-8">
        <header className="flex flex-wrap items-center gap-x-3 gap-y-2">
          <h1 className="text-lg font-semibold">Inbox</h1>
          {known && waiting.count > 0 && (
            <p data-waiting={waiting.count} className="text-sm text-muted">
              {filtered && shown === 0 ? `None of the ${waiting.count} that wait for you` : countWords(filtered ? counted : waiting.counts)}
              {filtered && shown > 0 && `, of ${waiting.count}`}
            </p>
          )}
          <div className="ml-auto flex flex-wrap items-center gap-2">
            {city !== undefined && (
              <Button look="quiet" onClick={() => set({ city: undefined })}>
                Only {city}: show all
              </Button>
            )}
            <Which label="Which" value={kind} options={KINDS} onChange={(next) => set({ kind: next })} />
          </div>
        </header>
        <Muted muted={waiting.muted} shown={muted !== undefined} onShow={(on) => set({ muted: on ? '1' : undefined })} />
        {snapshot.error !== undefined && <Problem error={snapshot.error} onRetry={readAsks} asOf={oldSince(snapshot)} />}
        {failed !== undefined && <Problem error={failed} />}
        {drawn.map((ask, i) => {
          const same = groupOf(ask).length;
          return (
            <AskCard
              key={idOf(ask)}
              ask={ask}
              focused={i === at}
              moves={moves}
              onFocus={() => choose(idOf(ask))}
              also={
                <>
                  {same > 1 && (
                    <Button not={not} {...(i === at ? { hotkey: 'a' } : {})} onClick={() => answerAlike(ask)}>
                      Answer these {same} alike
                    </Button>
                  )}
                  <Button
                    look="quiet"
                    className="ml-auto"
                    {...(i === at ? { hotkey: 'm' } : {})}
                    onClick={() => set({ mute: idOf(ask) }, false)}
                  >
                    Mute
                  </Button>
                </>
              }
            />
          );
        })}
        {left > 0 && (
          <Button className="self-center" onClick={drawMore}>
            Show more questions: {left}
          </Button>
        )}
        {known && snapshot.total > snapshot.rows.length && (
          <p className="text-sm text-muted">
            The oldest {snapshot.rows.length} of {snapshot.total} questions are here.
          </p>
        )}
        {beads.length > 0 && (
          <InboxItems
            title="Beads for you"
            items={beads}
            more={more('bead')}
            {...list}
            onFocus={(item) => choose(idOf(item))}
            onMute={(item) => set({ mute: idOf(item) }, false)}
          />
        )}
        {mail.length > 0 && (
          <InboxItems
            title="Unread mail"
            items={mail}
            more={more('mail')}
            {...list}
            onFocus={(item) => choose(idOf(item))}
            onMute={(item) => set({ mute: idOf(item) }, false)}
          />
        )}
        {known && fleet.phase === 'live' && waiting.count === 0 && fleet.total === 0 && <FirstRun />}
        {known && all.length === 0 && fleet.total > 0 && !(kind === 'look' && rest.length > 0) && (
          <Empty title={rest.length === 0 ? 'Nothing needs you' : 'No question waits'}>
            {filtered && waiting.count > 0 ? (
              <Button onClick={() => set({ city: undefined, kind: undefined })}>Show all that waits: {waiting.count}</Button>
            ) : (
              <p>When an agent asks for something, it stands here, and in the title of this tab. So do beads and mail for you.</p>
            )}
            <p className="flex flex-wrap justify-center gap-x-4 gap-y-1">
              <Link to="/cities" className="text-accent underline">
                Look at the cities
              </Link>
              {notices === 'off' && (
                <button type="button" onClick={() => void setNotices(true)} className="text-accent underline">
                  Tell me while I look elsewhere
                </button>
              )}
            </p>
          </Empty>
        )}
        {snapshot.error === undefined && wrong !== undefined && (
          <Problem error={wrong[0].error} onRetry={wrong[1]} asOf={oldSince(wrong[0])} />
        )}
        {rest.length > 0 && <AttentionList items={rest} />}
      </div>
      <Suspense>
        {group.current !== undefined && <Alike asks={group.current.asks} onClose={() => set({ alike: undefined })} />}
        {mute !== undefined && <MuteForm one={mute} onClose={() => set({ mute: undefined })} />}
      </Suspense>
    </div>
  );
}
