/** `svc backup` and `svc restore`: the whole of a supervisor in one file, and back. */
import './node-version.js';

await import('./backup/main.js');
