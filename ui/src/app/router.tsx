import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { parseSearch, stringifySearch, words } from '../lib/address.js';
import { loading } from '../lib/part.js';
import { Inbox } from '../views/inbox.js';
import { Failed, NotFound } from './failed.js';
import { Shell } from './shell.js';

const view = <T extends Record<string, unknown>, Name extends keyof T & string>(load: () => Promise<T>, name: Name) =>
  lazyRouteComponent(loading(load), name);

/** Every state of the page that can be sent to somebody is an address: what a view filters by is in its query. */
const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const inbox = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: words('city', 'kind', 'alike', 'mute', 'muted'),
  component: Inbox,
});
const cities = createRoute({
  getParentRoute: () => root,
  path: '/cities',
  validateSearch: words('q'),
  component: view(() => import('../views/cities.js'), 'Cities'),
});
const city = createRoute({
  getParentRoute: () => root,
  path: '/c/$city',
});
const overview = createRoute({
  getParentRoute: () => city,
  path: '/',
  component: view(() => import('../views/overview.js'), 'Overview'),
});
const sessions = createRoute({
  getParentRoute: () => city,
  path: '/sessions',
  validateSearch: words('state', 'q', 'new'),
  component: view(() => import('../views/sessions.js'), 'Sessions'),
});
const session = createRoute({
  getParentRoute: () => city,
  path: '/sessions/$id',
  validateSearch: words('thinking', 'agent', 'entry', 'find'),
  component: view(() => import('../views/session.js'), 'SessionView'),
});
const sessionTimeline = createRoute({
  getParentRoute: () => city,
  path: '/sessions/$id/timeline',
  validateSearch: words('from', 'to'),
  component: view(() => import('../views/session-timeline.js'), 'SessionTimeline'),
});
const beads = createRoute({
  getParentRoute: () => city,
  path: '/beads',
  validateSearch: words('status', 'type', 'label', 'assignee', 'priority', 'rig', 'text', 'sort', 'view', 'bead', 'new'),
  component: view(() => import('../views/beads.js'), 'Beads'),
});
const bead = createRoute({
  getParentRoute: () => city,
  path: '/beads/$id',
  validateSearch: words('tab', 'from', 'to'),
  component: view(() => import('../views/bead.js'), 'BeadPage'),
});
const ready = createRoute({
  getParentRoute: () => city,
  path: '/ready',
  validateSearch: words('bead', 'route', 'rig', 'who'),
  component: view(() => import('../views/ready.js'), 'Ready'),
});
const convoys = createRoute({
  getParentRoute: () => city,
  path: '/convoys',
  validateSearch: words('show', 'convoy', 'new'),
  component: view(() => import('../views/convoys.js'), 'Convoys'),
});
const convoy = createRoute({
  getParentRoute: () => city,
  path: '/convoys/$id',
  component: view(() => import('../views/convoy.js'), 'ConvoyPage'),
});
const runs = createRoute({
  getParentRoute: () => city,
  path: '/runs',
  validateSearch: words('status'),
  component: view(() => import('../views/runs.js'), 'Runs'),
});
const run = createRoute({
  getParentRoute: () => city,
  path: '/runs/$id',
  validateSearch: words('tab', 'from', 'to'),
  component: view(() => import('../views/run.js'), 'RunPage'),
});
const formulas = createRoute({
  getParentRoute: () => city,
  path: '/formulas',
  validateSearch: words('q', 'new'),
  component: view(() => import('../views/formulas.js'), 'Formulas'),
});
const formula = createRoute({
  getParentRoute: () => city,
  path: '/formulas/$name',
  validateSearch: words('tab'),
  component: view(() => import('../views/formula.js'), 'FormulaPage'),
});
const orders = createRoute({
  getParentRoute: () => city,
  path: '/orders',
  validateSearch: words('q'),
  component: view(() => import('../views/orders.js'), 'Orders'),
});
const order = createRoute({
  getParentRoute: () => city,
  path: '/orders/$name',
  component: view(() => import('../views/order.js'), 'OrderPage'),
});
const waits = createRoute({
  getParentRoute: () => city,
  path: '/waits',
  validateSearch: words('state', 'wait', 'new'),
  component: view(() => import('../views/waits.js'), 'Waits'),
});
const mail = createRoute({
  getParentRoute: () => city,
  path: '/mail',
  validateSearch: words('agent', 'status', 'text', 'thread', 'new'),
  component: view(() => import('../views/mail.js'), 'Mail'),
});
const agents = createRoute({
  getParentRoute: () => city,
  path: '/agents',
  validateSearch: words('q', 'running', 'new'),
  component: view(() => import('../views/agents.js'), 'Agents'),
});
const agent = createRoute({
  getParentRoute: () => city,
  path: '/agents/$name',
  validateSearch: words('tab'),
  component: view(() => import('../views/agent.js'), 'AgentPage'),
});
const events = createRoute({
  getParentRoute: () => city,
  path: '/events',
  validateSearch: words('type', 'actor', 'subject', 'match', 'q', 'since', 'until', 'range', 'by'),
  component: view(() => import('../views/events.js'), 'Events'),
});
const allEvents = createRoute({
  getParentRoute: () => root,
  path: '/events',
  validateSearch: words('type', 'actor', 'subject', 'match', 'city', 'q', 'since', 'until', 'range', 'by'),
  component: view(() => import('../views/events.js'), 'AllEvents'),
});
const usage = createRoute({
  getParentRoute: () => city,
  path: '/usage',
  validateSearch: words('range', 'by', 'of'),
  component: view(() => import('../views/usage.js'), 'Usage'),
});
const allUsage = createRoute({
  getParentRoute: () => root,
  path: '/usage',
  validateSearch: words('q'),
  component: view(() => import('../views/all-usage.js'), 'AllUsage'),
});
const config = createRoute({
  getParentRoute: () => city,
  path: '/config',
  validateSearch: words('tab', 'path', 'file', 'revision', 'against', 'edit'),
  component: view(() => import('../views/config.js'), 'Config'),
});
const rigs = createRoute({
  getParentRoute: () => city,
  path: '/rigs',
  validateSearch: words('new', 'edit'),
  component: view(() => import('../views/rigs.js'), 'Rigs'),
});
const packs = createRoute({
  getParentRoute: () => city,
  path: '/packs',
  validateSearch: words('new', 'q'),
  component: view(() => import('../views/packs.js'), 'Packs'),
});
const providers = createRoute({
  getParentRoute: () => city,
  path: '/providers',
  validateSearch: words('new', 'edit'),
  component: view(() => import('../views/providers.js'), 'Providers'),
});
const patches = createRoute({
  getParentRoute: () => city,
  path: '/patches',
  validateSearch: words('kind', 'new', 'edit'),
  component: view(() => import('../views/patches.js'), 'Patches'),
});
const messaging = createRoute({
  getParentRoute: () => city,
  path: '/messaging',
  validateSearch: words('tab', 'who', 'new', 'state', 'direction', 'provider', 'account', 'conversation', 'kind', 'parent', 'scope'),
  component: view(() => import('../views/messaging.js'), 'Messaging'),
});
const services = createRoute({
  getParentRoute: () => city,
  path: '/services',
  validateSearch: words('log'),
  component: view(() => import('../views/services.js'), 'Services'),
});
const maintenance = createRoute({
  getParentRoute: () => city,
  path: '/maintenance',
  component: view(() => import('../views/maintenance.js'), 'Maintenance'),
});
const runners = createRoute({
  getParentRoute: () => root,
  path: '/runners',
  validateSearch: words('all'),
  component: view(() => import('../views/runners.js'), 'Runners'),
});
const health = createRoute({
  getParentRoute: () => root,
  path: '/health',
  component: view(() => import('../views/health.js'), 'Health'),
});
const keys = createRoute({
  getParentRoute: () => root,
  path: '/keys',
  validateSearch: words('new', 'rotate'),
  component: view(() => import('../views/keys.js'), 'Keys'),
});
const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  validateSearch: words('key', 'city', 'operation', 'outcome', 'request_id', 'since'),
  component: view(() => import('../views/audit.js'), 'Audit'),
});

/** Views of administration, in the order of the rail. */
const administration = [usage, config, rigs, packs, providers, patches, messaging, services, maintenance] as const;
const supervisor = [allEvents, allUsage, runners, health, keys, audit] as const;
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: view(() => import('../views/settings.js'), 'Settings'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    inbox,
    cities,
    settings,
    ...supervisor,
    city.addChildren([
      overview,
      beads,
      bead,
      ready,
      convoys,
      convoy,
      runs,
      run,
      formulas,
      formula,
      orders,
      order,
      waits,
      mail,
      agents,
      agent,
      sessions,
      session,
      sessionTimeline,
      events,
      ...administration,
    ]),
  ]),
  basepath: '/ui',
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  defaultErrorComponent: Failed,
  scrollRestoration: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
