/** The command of a cluster's migrate step: see `migration.ts`. */
import './node-version.js';

await import('./migration.js');
