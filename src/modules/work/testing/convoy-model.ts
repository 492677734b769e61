import type { Beads, ModelBead, View } from './bead-model.js';

/** Something that the closing of a bead brings about: a convoy closes, or (`tell`) tells that it has closed. */
export interface Consequence {
  readonly convoy: ModelBead;
  readonly tell?: View;
}

/** What the closing of `bead` brings about, one after the other: each is decided when the one before is done. */
export function* closedConvoys(beads: Beads, bead: ModelBead): Generator<Consequence> {
  if (bead.type === 'convoy') {
    const members = membersOf(beads, bead);
    const closed = members.filter((member) => member.status === 'closed').length;
    const reason = bead.metadata.get('close_reason');
    yield { convoy: bead, tell: { total: members.length, closed, ...(reason === undefined ? {} : { reason }) } };
  }
  const around = [...beads.values()].filter((it) => it.type === 'convoy' && it !== bead && membersOf(beads, it).includes(bead));
  for (const convoy of around.sort((a, b) => (a.id < b.id ? -1 : 1))) {
    const done = membersOf(beads, convoy).every((member) => member.status === 'closed');
    if (done && convoy.status !== 'closed' && !convoy.labels.includes('owned')) yield { convoy };
  }
}

/** Beads that a convoy tracks, and its children. */
function membersOf(beads: Beads, convoy: ModelBead): ModelBead[] {
  return [...beads.values()].filter((it) => convoy.needs.get(it.id) === 'tracks' || it.parent === convoy.id);
}
