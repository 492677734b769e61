import './node-version.js';

await import('./migration.js');
