import type { CityConfig } from '../../files/composition/city-config.js';

/** What a million tokens of a model cost, in US dollars. */
export interface Price {
  readonly provider: string;
  readonly model: string;
  readonly prompt: number;
  readonly completion: number;
  readonly cache_read: number;
  readonly cache_creation: number;
}

interface Written {
  readonly provider: string;
  readonly model: string;
  readonly tier?: Readonly<Record<string, number>>;
}

/** The prices of a city. Without one of their own, tokens of the cache cost what others of the prompt do. */
export function pricesOf({ pricing }: CityConfig): Price[] {
  return ((pricing ?? []) as readonly Written[]).flatMap(({ provider, model, tier }) => {
    if (tier === undefined) return [];
    const prompt = tier.prompt_usd_per_1m ?? 0;
    const completion = tier.completion_usd_per_1m ?? 0;
    const cache_read = tier.cache_read_usd_per_1m ?? prompt;
    const cache_creation = tier.cache_creation_usd_per_1m ?? prompt;
    return [{ provider, model, prompt, completion, cache_read, cache_creation }];
  });
}

/** Whether what is used is to be told at all: a city may say that it keeps no account of it. */
export function isRecorded({ usage }: CityConfig): boolean {
  const provider = (usage as { provider?: string } | undefined)?.provider ?? '';
  return provider === '' || provider === 'local';
}
