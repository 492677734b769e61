import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/** A history that is a seed and some lists. */
type Parted = { readonly seed: number } & Readonly<Record<string, unknown>>;

export function emptyParts<H extends { readonly seed: number }>(seed: number, parts: readonly Exclude<keyof H, 'seed'>[]): H {
  return { seed, ...Object.fromEntries(parts.map((part) => [part, []])) } as unknown as H;
}

/** One JSON object a line. */
export async function saveParts(history: { readonly seed: number }, parts: readonly string[], file: string): Promise<void> {
  const out = await open(file, 'w');
  try {
    await out.write(`${JSON.stringify({ is: 'run', seed: history.seed })}\n`);
    for (const part of parts)
      for (const entry of (history as Parted)[part] as unknown[]) await out.write(`${JSON.stringify({ is: part, entry })}\n`);
  } finally {
    await out.close();
  }
}

export async function loadParts<H extends { readonly seed: number }>(file: string, parts: readonly Exclude<keyof H, 'seed'>[]): Promise<H> {
  let history = emptyParts<H>(0, parts);
  for await (const text of createInterface({ input: createReadStream(file) })) {
    const line = JSON.parse(text) as { is: string; seed: number; entry: unknown };
    if (line.is === 'run') history = emptyParts(line.seed, parts);
    else (history as unknown as Record<string, unknown[]>)[line.is]!.push(line.entry);
  }
  return history;
}

/** Things by what they belong to. */
export function grouped<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const own = groups.get(key(item));
    if (own === undefined) groups.set(key(item), [item]);
    else own.push(item);
  }
  return groups;
}
