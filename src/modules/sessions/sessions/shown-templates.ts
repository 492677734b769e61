import type { CityConfig } from '../../files/composition/city-config.js';
import type { Template } from '../launch/launch.js';
import type { ShownTemplate } from './session-view.js';

/** Kept in a process; one is some hundred bytes, as a rule. */
const KEPT = 4_000;

/**
 * What answers say of templates, by the hash of the configuration that they stand in. A turn of one of thousands of cities needs a few
 * words of its configuration, which is much larger and is not kept for so many.
 */
export class ShownTemplates {
  readonly #known = new Map<string, ShownTemplate | undefined>();

  /** Of one configuration of a city: `load` is called at most once, where one of them is not known. */
  async of<T extends { readonly kind: string; readonly template: string }>(
    place: { readonly streamId: number; readonly hash: string },
    rows: readonly T[],
    load: () => Promise<CityConfig>,
    find: (config: CityConfig, row: T) => Template | undefined,
  ): Promise<(ShownTemplate | undefined)[]> {
    let config: CityConfig | undefined;
    const found: (ShownTemplate | undefined)[] = [];
    for (const row of rows) {
      const key = `${place.streamId} ${place.hash} ${row.kind} ${row.template}`;
      if (!this.#known.has(key)) this.#keep(key, shown(find((config ??= await load()), row)));
      found.push(this.#known.get(key));
    }
    return found;
  }

  #keep(key: string, template: ShownTemplate | undefined): void {
    this.#known.set(key, template);
    if (this.#known.size > KEPT) this.#known.delete(this.#known.keys().next().value!);
  }
}

function shown(template: Template | undefined): ShownTemplate | undefined {
  if (template === undefined) return undefined;
  const { optionDefaults, isPool, spec, agent } = template;
  return { optionDefaults, isPool, spec: { display_name: spec.display_name }, agent: agent && { dir: agent.dir } };
}
