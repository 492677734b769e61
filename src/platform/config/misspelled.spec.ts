import { expect, it } from '@jest/globals';
import { misspelled } from './misspelled.js';

// Guard: a retention that somebody has set, and that never holds.
it('finds variables that were meant to be others', () => {
  expect(misspelled({ SVC_EVENT_RETENTOIN: '30d', SVC_REDISURL: 'redis://r', SVC_EVENT_RETENTION: '30d', PATH: '/bin' })).toEqual([
    { variable: 'SVC_EVENT_RETENTOIN', meant: 'SVC_EVENT_RETENTION' },
    { variable: 'SVC_REDISURL', meant: 'SVC_REDIS_URL' },
  ]);
});

it('leaves alone what others read: the client, agents, Compose, the builder of webhooks', () => {
  const names = [
    ...[
      'API_KEY',
      'CITY',
      'CONTEXT',
      'KEY_FILE',
      'NODE',
      'PAGER',
      'TAG',
      'DB_PASSWORD',
      'PUBLISH_PORT',
      'PUBLISH_TLS',
      'TLS_DIR',
      'TLS_NAME',
    ],
    ...['AGENT', 'CITY_PATH', 'CITY_RUNTIME_DIR', 'DEPLOYMENT', 'DIR', 'GENERATION', 'PROBE_SECRET', 'RIG', 'RIG_ROOT', 'TEST_FAILPOINTS'],
    ...['SESSION_GENERATION', 'SESSION_ID', 'SESSION_NAME', 'SESSION_OWNER', 'SESSION_TOKEN', 'TRIGGER_BEAD_ID', 'WEBHOOK_SECRET_GITHUB'],
    // Of Kubernetes, for a service with the name `svc-api`.
    ...['API_SERVICE_HOST', 'API_SERVICE_PORT', 'API_PORT', 'API_PORT_8372_TCP', 'API_PORT_8372_TCP_ADDR'],
  ];
  expect(misspelled(Object.fromEntries(names.map((name) => [`SVC_${name}`, 'x'])))).toEqual([]);
});
