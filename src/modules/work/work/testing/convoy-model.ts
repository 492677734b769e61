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
  for (const convoy of convoysAround(beads, bead)) if (isCompleted(beads, convoy)) yield { convoy };
}

/** Convoys that a bead is a member of, by id. */
export function convoysAround(beads: Beads, bead: ModelBead): ModelBead[] {
  const around = [...beads.values()].filter((it) => it.type === 'convoy' && it !== bead && membersOf(beads, it).includes(bead));
  return around.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** All members are closed, there are some, and it closes by itself. */
export function isCompleted(beads: Beads, convoy: ModelBead): boolean {
  const members = membersOf(beads, convoy);
  const done = members.length > 0 && members.every((member) => member.status === 'closed');
  return done && convoy.status !== 'closed' && !convoy.labels.includes('owned');
}

/** Beads that a convoy tracks, and its children. */
function membersOf(beads: Beads, convoy: ModelBead): ModelBead[] {
  return [...beads.values()].filter((it) => convoy.needs.get(it.id) === 'tracks' || it.parent === convoy.id);
}
