import type { UiCity } from './ui-city.js';

/** A view at an address, and what is there once it has what it shows. */
export interface UiView {
  /** As `ui/src/app/router.tsx` has it. */
  readonly route: string;
  readonly path: string;
  readonly ready: string;
}

/**
 * Every view of the page, with those of its states that look different. `ui-views.spec.ts` compares them with the routes there are: a view
 * that is not here is opened by no test.
 */
export function uiViews({ session, bead, convoy, mail }: UiCity, city = 'alpha'): readonly UiView[] {
  const c = `/ui/c/${city}`;
  const view = (route: string, path: string, ready: string): UiView => ({ route, path, ready });
  return [
    view('/', '/ui/', '[data-ask]'),
    view('/', '/ui/?kind=mail&city=alpha', '[data-item]'),
    view('/', `/ui/?mute=${encodeURIComponent(`mail:alpha/${mail}`)}`, 'dialog[open]'),
    view('/cities', '/ui/cities', '[data-city]'),
    view('/cities', '/ui/cities?q=alp', '[data-city]'),
    view('/sessions', `${c}/sessions`, `[data-session="${session}"]`),
    view('/sessions', `${c}/sessions?new=1`, 'dialog[open]'),
    view('/sessions/$id', `${c}/sessions/${session}`, '[data-transcript]'),
    view('/sessions/$id', `${c}/sessions/${session}?find=img`, '[data-transcript] [data-entry]'),
    view('/beads', `${c}/beads`, '[data-bead]'),
    view('/beads', `${c}/beads?text=img&bead=${bead}`, '[data-bead-pane]'),
    view('/beads', `${c}/beads?sort=updated_at`, '[data-bead]'),
    view('/beads', `${c}/beads?view=board&status=all`, '[data-bead]'),
    view('/beads', `${c}/beads?view=tree`, '[data-bead][aria-expanded]'),
    view('/beads', `${c}/beads?new=1`, 'dialog[open]'),
    view('/beads/$id', `${c}/beads/${bead}`, '[data-bead-pane]'),
    view('/', c, 'main h1'),
    view('/beads/$id', `${c}/beads/${bead}?tab=timeline`, 'main h1, main h2'),
    view('/beads/$id', `${c}/beads/${bead}?tab=graph`, 'main h1, main h2'),
    view('/sessions/$id/timeline', `${c}/sessions/${session}/timeline`, 'main h1'),
    view('/ready', `${c}/ready`, 'main h1'),
    view('/convoys', `${c}/convoys`, 'main h1'),
    view('/convoys/$id', `${c}/convoys/${convoy}`, 'main h1, main h2'),
    view('/runs', `${c}/runs`, 'main h1'),
    view('/formulas', `${c}/formulas`, 'main h1'),
    view('/formulas', `${c}/formulas?new=1`, 'dialog[open]'),
    view('/formulas/$name', `${c}/formulas/mol-do-work`, 'main h1'),
    view('/orders', `${c}/orders`, 'main h1'),
    view('/orders/$name', `${c}/orders/daily-digest`, 'main h1'),
    view('/waits', `${c}/waits`, 'main h1'),
    view('/mail', `${c}/mail?agent=human`, 'main h1'),
    view('/agents', `${c}/agents`, 'main h1'),
    view('/agents/$name', `${c}/agents/loopback`, 'main h1'),
    view('/events', `${c}/events`, '[data-seq]'),
    view('/events', `${c}/events?type=odd.thing&match=deep.x%3D1&range=1h&by=actor`, 'h1'),
    view('/events', '/ui/events', '[data-seq]'),
    view('/usage', `${c}/usage`, 'dl'),
    view('/usage', `${c}/usage?range=168h&by=model&of=tokens`, 'dl'),
    view('/usage', '/ui/usage', '[data-row]'),
    view('/config', `${c}/config`, '[data-rejected]'),
    view('/config', `${c}/config?tab=values&path=providers`, 'main [data-row]'),
    view('/config', `${c}/config?tab=revisions&revision=2`, '[data-differences]'),
    view('/config', `${c}/config?tab=draft`, 'textarea'),
    view('/config', `${c}/config?edit=network`, 'dialog[open]'),
    view('/rigs', `${c}/rigs`, 'main h1'),
    view('/rigs', `${c}/rigs?new=1`, 'dialog[open]'),
    view('/packs', `${c}/packs`, 'main h1'),
    view('/packs', `${c}/packs?new=1`, 'dialog[open]'),
    view('/providers', `${c}/providers`, '[data-row="odd"]'),
    view('/providers', `${c}/providers?edit=odd`, 'dialog[open]'),
    view('/patches', `${c}/patches?kind=providers`, '[data-row="odd"]'),
    view('/patches', `${c}/patches?kind=providers&edit=odd`, 'dialog[open]'),
    view('/messaging', `${c}/messaging`, '[data-row]'),
    view('/messaging', `${c}/messaging?tab=adapters`, '[data-row]'),
    view('/messaging', `${c}/messaging?tab=deliveries`, '[data-row]'),
    view(
      '/messaging',
      `${c}/messaging?tab=conversation&provider=chat&conversation=%3Cimg+src%3Dx+onerror%3D%22window.__harm%3D1%22%3E`,
      '[data-row]',
    ),
    view('/services', `${c}/services?log=board`, '[data-log] p span'),
    view('/maintenance', `${c}/maintenance`, 'dl'),
    view('/runners', '/ui/runners', '[data-row]'),
    view('/health', '/ui/health', '[data-row]'),
    view('/keys', '/ui/keys', '[data-row]'),
    view('/keys', '/ui/keys?new=1', 'dialog[open]'),
    view('/audit', '/ui/audit?outcome=accepted', '[data-row]'),
    view('/settings', '/ui/settings', 'fieldset'),
  ];
}
