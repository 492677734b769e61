import { afterEach, expect, it } from '@jest/globals';
import { connect } from '../api.js';
import { Progress } from '../cities/progress.js';
import { fakeIo } from '../testing/io.js';
import { testServer, type TestServer } from '../testing/server.js';
import { tellQuestions } from './questions.js';

let server: TestServer;
afterEach(() => server.close());

it('keep nobody waiting who has what they waited for, also when the service says nothing any more', async () => {
  const over = new AbortController();
  server = await testServer({ '/v0/city/alpha/session/mayor/pending': () => over.abort() });
  const api = connect({ url: server.url, key: undefined, source: 'for a test' }, new AbortController().signal);
  await tellQuestions(api, { city: 'alpha', session: 'mayor', progress: new Progress(fakeIo(), 'sending', true) }, over.signal);
  expect(server.requests).toHaveLength(1);
}, 10_000);
