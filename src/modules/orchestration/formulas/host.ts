import type { CityConfig } from '../../files/composition/city-config.js';

/** The compiler that a city has. */
export function hostOf(config: CityConfig): '1.0.0' | '2.0.0' {
  return (config.daemon as { formula_v2?: boolean } | undefined)?.formula_v2 === false ? '1.0.0' : '2.0.0';
}
