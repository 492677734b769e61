import type { BeadRecord } from '../../work/work/bead-record.js';
import type { Objection, Obstacles } from './sling-objections.js';
import type { SlingOrder } from './sling-order.js';

/** What the caller of a sling that went through should know: what was overridden, and what nobody may start on it for yet. */
export function warningsOf(bead: BeadRecord, order: SlingOrder, objections: readonly Objection[], obstacles: Obstacles): string[] {
  const { blockers, deferred } = obstacles;
  const settling = blockers.length === 0 && bead.open_blockers > 0;
  const idle = bead.status === 'open' && !bead.ready && blockers.length === 0 && !settling && !deferred;
  return [
    ...objections.map((objection) => overridden(objection, order)),
    ...(blockers.length > 0 ? [`is blocked by ${named(blockers)}`] : []),
    ...(settling ? ['has yet to be told, in a fan-out, that what blocked it is closed'] : []),
    ...(deferred ? [`is deferred until ${bead.defer_until?.toISOString()}`] : []),
    ...(isCrossRig(bead, order) ? [`belongs to the rig ${bead.rig}, its target to the rig ${order.target.rig}`] : []),
    ...bead.labels.filter((label) => label.startsWith('hold:')).map((label) => `is held back by its label ${label}`),
    ...(idle ? [`is of a kind that is never offered as work (type ${bead.issue_type})`] : []),
  ].map((text) => `bead ${bead.id} ${text}`);
}

/** Work of one rig for an agent of another. The city's work is for everybody, and its agents do everybody's. */
export function isCrossRig(bead: BeadRecord, { target }: SlingOrder): boolean {
  return bead.rig !== '' && target.rig !== '' && bead.rig !== target.rig;
}

function overridden({ about, field }: Objection, { reassign }: SlingOrder): string {
  if (about === 'owner') return reassign ? `was taken from ${String(field.value)}` : `is still owned by ${String(field.value)}`;
  return about === 'route' ? `was routed to ${String(field.value)}` : field.message;
}

const NAMED = 10;

function named(ids: readonly string[]): string {
  return ids.length <= NAMED ? ids.join(', ') : `${ids.slice(0, NAMED).join(', ')} and ${ids.length - NAMED} more`;
}
