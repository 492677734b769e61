/** What is marked in a list, and from where a range goes on. */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly anchor: string | undefined;
}
export const NOTHING: Selection = { ids: new Set(), anchor: undefined };

export function toggle({ ids }: Selection, id: string): Selection {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return { ids: next, anchor: id };
}

/** From where the last mark was set to here, in the order of the list. */
export function extend({ ids, anchor }: Selection, order: readonly string[], id: string): Selection {
  const to = order.indexOf(id);
  const from = anchor === undefined ? -1 : order.indexOf(anchor);
  if (to < 0) return { ids, anchor };
  if (from < 0) return { ids: new Set(ids).add(id), anchor: id };
  return { ids: new Set([...ids, ...order.slice(Math.min(from, to), Math.max(from, to) + 1)]), anchor };
}

/** What is marked and has left the list is not acted on unseen. */
export function within(selection: Selection, order: readonly string[]): Selection {
  if (selection.ids.size === 0) return selection;
  const there = new Set(order);
  const ids = [...selection.ids].filter((id) => there.has(id));
  return ids.length === selection.ids.size ? selection : { ids: new Set(ids), anchor: selection.anchor };
}
