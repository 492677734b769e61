export interface Outcome<T> {
  readonly done: readonly T[];
  readonly failed: readonly { readonly item: T; readonly why: unknown }[];
}

/** Does the same to many, a few at a time. What fails takes nothing else with it. */
export async function forEach<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
  tell: (ended: number) => void = () => undefined,
): Promise<Outcome<T>> {
  const done: T[] = [];
  const failed: { item: T; why: unknown }[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length) {
      const item = items[next++]!;
      try {
        await work(item);
        done.push(item);
      } catch (why) {
        failed.push({ item, why });
      }
      tell(done.length + failed.length);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  return { done, failed };
}
