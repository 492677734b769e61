import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { Failed, NotFound } from './failed.js';
import { Inbox } from '../views/inbox.js';
import { Shell } from './shell.js';

/** Every state of the page that can be sent to somebody is an address: what a view filters by is in its query. */
const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });
const words = <K extends string>(...names: readonly K[]) => {
  return (search: Record<string, unknown>): { [N in K]?: string } => {
    const found: { [N in K]?: string } = {};
    for (const name of names) {
      const value = search[name];
      if ((typeof value === 'string' || typeof value === 'number') && value !== '') found[name] = String(value);
    }
    return found;
  };
};

const inbox = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: words('city'),
  component: Inbox,
});
const cities = createRoute({
  getParentRoute: () => root,
  path: '/cities',
  validateSearch: words('q'),
  component: lazyRouteComponent(() => import('../views/cities.js'), 'Cities'),
});
const city = createRoute({
  getParentRoute: () => root,
  path: '/c/$city',
  beforeLoad: ({ params, location }) => {
    if (/^\/c\/[^/]+\/?$/.test(location.pathname)) return redirect({ to: '/c/$city/sessions', params });
    return undefined;
  },
});
const sessions = createRoute({
  getParentRoute: () => city,
  path: '/sessions',
  validateSearch: words('state', 'q', 'new'),
  component: lazyRouteComponent(() => import('../views/sessions.js'), 'Sessions'),
});
const session = createRoute({
  getParentRoute: () => city,
  path: '/sessions/$id',
  validateSearch: words('thinking'),
  component: lazyRouteComponent(() => import('../views/session.js'), 'SessionView'),
});
const beads = createRoute({
  getParentRoute: () => city,
  path: '/beads',
  validateSearch: words('status', 'type', 'label', 'assignee', 'priority', 'text', 'bead', 'new'),
  component: lazyRouteComponent(() => import('../views/beads.js'), 'Beads'),
});
const bead = createRoute({
  getParentRoute: () => city,
  path: '/beads/$id',
  component: lazyRouteComponent(() => import('../views/bead.js'), 'BeadPage'),
});
const events = createRoute({
  getParentRoute: () => city,
  path: '/events',
  validateSearch: words('type', 'q'),
  component: lazyRouteComponent(() => import('../views/events.js'), 'Events'),
});
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: lazyRouteComponent(() => import('../views/settings.js'), 'Settings'),
});

export const router = createRouter({
  routeTree: root.addChildren([inbox, cities, settings, city.addChildren([sessions, session, beads, bead, events])]),
  basepath: '/ui',
  defaultPreload: 'intent',
  defaultErrorComponent: Failed,
  scrollRestoration: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
