import { ask, askUnlessIn } from '../api/info.js';
import { get, isBarred } from '../api/client.js';
import type { Ask, City, LoggedEvent } from '../api/types.js';
import { askedOf } from '../lib/asked.js';
import { againOf } from './again.js';
import { onFrame } from './frame.js';
import { hub } from './hub.js';
import { LiveList } from './list.js';
import { lookAgain, settle } from './operations.js';
import { streamOf } from './use-list.js';

/** What concerns all cities: one stream for inbox, fleet, badge and requests, for as long as there is a page. */
const TYPES = [
  'city.created',
  'city.resumed',
  'city.suspended',
  'city.unregister_requested',
  'controller.started',
  'controller.stopped',
  'mail.archived',
  'mail.deleted',
  'mail.marked_read',
  'mail.marked_unread',
  'mail.replied',
  'mail.sent',
  'request.failed',
  'request.result.city.create',
  'request.result.city.register',
  'request.result.city.start',
  'request.result.city.stop',
  'request.result.city.unregister',
  'request.result.mail.broadcast',
  'request.result.rig.create',
  'request.result.session.create',
  'request.result.session.message',
  'request.result.session.submit',
  'request.result.sling.batch',
  'session.interaction.opened',
  'session.interaction.resolved',
];
export const SUPERVISOR = `/v0/events/stream?type=${TYPES.join(',')}`;
const PAGE = 1000;

const askId = ({ city, session_id, request_id }: Pick<Ask, 'city' | 'session_id' | 'request_id'>): string =>
  JSON.stringify([city, session_id, request_id]);

/** Every question that waits for a person. */
export const asks = new LiveList<Ask>({
  read: async (cursor) => {
    const page = await get<{ items: Ask[]; total: number; next_cursor?: string }>('/v0/pending', { query: { limit: PAGE, cursor } });
    return { items: page.items, total: page.total, next: page.next_cursor };
  },
  id: askId,
  // What an agent asks does not change: what was read first stays.
  version: () => 1,
  order: (a, b) => (a.opened_at ?? '').localeCompare(b.opened_at ?? '') || askId(a).localeCompare(askId(b)),
  schedule: onFrame,
});

export const cities = new LiveList<City>({
  read: async (cursor) => {
    const page = await get<{ items: City[] | null; total: number; next_cursor?: string }>('/v0/cities', { query: { cursor } });
    return { items: page.items ?? [], total: page.total, next: page.next_cursor };
  },
  id: ({ name }) => name,
  order: (a, b) => a.name.localeCompare(b.name),
  schedule: onFrame,
});

const rereads = againOf(asks, isBarred);
/** Each event of any city has all of them read: not at every one, and less often where nobody looks. */
const CITIES_REST_MS = 1_000;
const CITIES_REST_HIDDEN_MS = 30_000;
const recities = againOf(cities, isBarred, undefined, () => (document.hidden ? CITIES_REST_HIDDEN_MS : CITIES_REST_MS));

/** At once. */
export const readAsks = (): void => rereads.want(true);
export const readCities = (): void => recities.want(true);
const isKnown = ({ phase, error }: { readonly phase: string; readonly error: unknown }): boolean => phase === 'live' && error === undefined;

/** Who has answered, told for a while: whoever was too late learns who was first. */
const answered = new Map<string, { readonly by: string; readonly action: string }>();
export const answerOf = (ask: Ask): { by: string; action: string } | undefined => answered.get(askId(ask));

export function followSupervisor(): void {
  let joined = false;
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) recities.hurry();
  });
  hub.join(
    SUPERVISOR,
    {
      live: (gap) => {
        // What this key may, and how often a stream says something, may be other than before.
        void (joined ? ask() : askUnlessIn());
        joined = true;
        if (gap) asks.doubt();
        if (!gap && isKnown(asks.snapshot()) && isKnown(cities.snapshot())) return;
        readAsks();
        readCities();
        lookAgain();
      },
      // Nobody else may ask the service for anything for a while.
      state: (state) => {
        if (state.kind === 'refused' && state.status === 401) void ask();
      },
      frame: ({ event, data }) => {
        if (event !== 'tagged_event') return;
        const told = data as LoggedEvent & { readonly city: string };
        if (told.type.startsWith('session.interaction.')) interaction(told);
        else if (told.type.startsWith('request.')) settle(told);
        if (/^(city|controller)\.|^request\.(failed|result\.city\.)/.test(told.type)) recities.want();
        if (told.type === 'controller.started') hub.come(streamOf(told.city));
        // What a city that has ended asked nobody can answer any more.
        if (told.type === 'controller.stopped' || told.type === 'request.result.city.unregister') rereads.want();
      },
    },
    true,
  );
}

function interaction(told: LoggedEvent & { readonly city: string }): void {
  const asked = askedOf(told);
  if (asked === undefined) return rereads.want();
  const { ask: question, settled } = asked;
  if (settled === undefined) return asks.put(question);
  answered.set(askId(question), settled);
  if (answered.size > 500) answered.delete(answered.keys().next().value!);
  asks.remove(askId(question));
}
