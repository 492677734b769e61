import type { LinkProps } from '@tanstack/react-router';
import * as needs from '../api/needs.gen.js';
import { lackOf, type Caller, type Need } from '../lib/may.js';
import { visible } from '../lib/text.js';
import type { IconName } from '../parts/icons.js';

/** A view that the page leads to. One line each: the rail, the keys, the palette and the sheet of a phone are made of these. */
export interface View {
  /** With `$city` it is a view of the city that is looked at. */
  readonly to: NonNullable<LinkProps['to']>;
  readonly label: string;
  readonly icon: IconName;
  readonly about: string;
  readonly keys?: string;
  /** Others lie below its address. */
  readonly exact?: boolean;
  /** What a key needs for what it reads; others are not led there. Most views are for all who may read. */
  readonly needs?: Need;
}
export interface ViewGroup {
  readonly name: string;
  readonly views: readonly View[];
}

export const INBOX: View = { to: '/', label: 'Inbox', icon: 'inbox', about: 'what waits for a person', keys: 'g i' };

export const GROUPS: readonly ViewGroup[] = [
  {
    name: 'Work',
    views: [
      { to: '/c/$city', label: 'Overview', icon: 'overview', about: 'numbers, who works on what', keys: 'g v', exact: true },
      { to: '/c/$city/beads', label: 'Beads', icon: 'beads', about: 'pieces of work', keys: 'g b' },
      { to: '/c/$city/ready', label: 'Ready', icon: 'ready', about: 'work that can begin, and what waits for it', keys: 'g r' },
      { to: '/c/$city/convoys', label: 'Convoys', icon: 'convoys', about: 'beads that travel together', keys: 'g o' },
      { to: '/c/$city/runs', label: 'Runs', icon: 'runs', about: 'formulas that are done, step by step', keys: 'g n' },
      { to: '/c/$city/formulas', label: 'Formulas', icon: 'formulas', about: 'templates of work', keys: 'g f' },
      { to: '/c/$city/orders', label: 'Orders', icon: 'orders', about: 'what is done again and again', keys: 'g d' },
      { to: '/c/$city/waits', label: 'Waits', icon: 'waits', about: 'what sessions wait for', keys: 'g w' },
      { to: '/c/$city/mail', label: 'Mail', icon: 'mail', about: 'of agents and people', keys: 'g m' },
    ],
  },
  {
    name: 'Agents',
    views: [
      { to: '/c/$city/agents', label: 'Agents', icon: 'agents', about: 'the roster', keys: 'g a' },
      { to: '/c/$city/sessions', label: 'Sessions', icon: 'sessions', about: 'agents at work, and what they say', keys: 'g s' },
    ],
  },
  {
    name: 'City',
    views: [
      { to: '/c/$city/events', label: 'Events', icon: 'events', about: 'all that happens', keys: 'g e' },
      { to: '/c/$city/usage', label: 'Usage', icon: 'usage', about: 'tokens and cost over time', keys: 'g u' },
      { to: '/c/$city/config', label: 'Configuration', icon: 'config', about: 'values, revisions, what was refused', keys: 'g x' },
      { to: '/c/$city/rigs', label: 'Rigs', icon: 'rigs', about: 'repositories that the city works on' },
      { to: '/c/$city/packs', label: 'Packs', icon: 'packs', about: 'what others have written' },
      { to: '/c/$city/providers', label: 'Providers', icon: 'providers', about: 'programs that agents are made of' },
      { to: '/c/$city/patches', label: 'Patches', icon: 'patches', about: 'what the city changes of packs' },
      { to: '/c/$city/messaging', label: 'Messaging', icon: 'messaging', about: 'chats in which sessions answer' },
      { to: '/c/$city/services', label: 'Services', icon: 'services', about: 'programs that the city serves' },
      { to: '/c/$city/maintenance', label: 'Maintenance', icon: 'maintenance', about: 'what is old, and goes' },
    ],
  },
  {
    name: 'Supervisor',
    views: [
      { to: '/cities', label: 'Cities', icon: 'cities', about: 'start, stop, create', keys: 'g c' },
      { to: '/events', label: 'All events', icon: 'events', about: 'what happens in all cities' },
      { to: '/usage', label: 'All usage', icon: 'usage', about: 'what all cities have used' },
      { to: '/runners', label: 'Runners', icon: 'runners', about: 'hosts that run agents', needs: needs.listRunners },
      { to: '/health', label: 'Health', icon: 'health', about: 'what somebody should mend', keys: 'g h' },
      { to: '/keys', label: 'Keys', icon: 'keys', about: 'who may do what here', keys: 'g k', needs: needs.listKeys },
      { to: '/audit', label: 'Audit', icon: 'audit', about: 'who did what', needs: needs.listAudit },
      { to: '/settings', label: 'Settings', icon: 'settings', about: 'theme and keys of this browser' },
    ],
  },
];

export const ofCity = ({ to }: View): boolean => to.includes('$city');

const isFor = ({ needs: need }: View, caller: Caller | undefined): boolean =>
  need === undefined || caller === undefined || lackOf(caller, [need]) === undefined;

/** The groups as they can be gone to: without a city those of a city are not there, and what a key is refused is not. */
export const groupsFor = (city: string | undefined, caller: Caller | undefined): readonly ViewGroup[] =>
  GROUPS.map(({ name, views }) => ({
    name,
    views: views.filter((view) => (city !== undefined || !ofCity(view)) && isFor(view, caller)),
  })).filter(({ views }) => views.length > 0);

export const linkTo = ({ to }: View, city: string | undefined): LinkProps =>
  ({ to, ...(city === undefined ? {} : { params: { city } }) }) as LinkProps;

const partsOf = (pathname: string): readonly string[] =>
  pathname
    .replace(/^\/ui(?=\/|$)/, '')
    .split('/')
    .filter((part) => part !== '');

/** The view of a city that an address belongs to. */
export const viewAt = (pathname: string): View | undefined => {
  const [first, , ...rest] = partsOf(pathname);
  if (first !== 'c') return undefined;
  return GROUPS.flatMap(({ views }) => views).find((view) => ofCity(view) && view.to === ['/c/$city', ...rest.slice(0, 1)].join('/'));
};

/** What an address shows, the nearest first: `ha-1 · Beads · harbor`. A list of tabs, and whoever hears the page, has nothing else to tell views by. */
export function titleOf(pathname: string): string {
  const [first, ...rest] = partsOf(pathname);
  if (first === 'c' && rest[0] !== undefined) {
    const [city, , ...below] = rest;
    return [below.join('/'), viewAt(pathname)?.label ?? '', city]
      .filter((part) => part !== '')
      .map((part) => visible(readable(part)))
      .join(' · ');
  }
  const found = [INBOX, ...GROUPS.flatMap(({ views }) => views)].find(({ to }) => to === `/${first ?? ''}`);
  return found === undefined ? 'Supervisor' : `${found.label} · Supervisor`;
}

function readable(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
