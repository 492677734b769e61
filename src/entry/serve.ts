import './node-version.js';

await import('./server.js');
