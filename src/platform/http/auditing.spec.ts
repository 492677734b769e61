import { expect, it } from '@jest/globals';
import { api } from '../../../test/support/http.js';
import { problem } from '../../contract/problems.js';
import { audited } from '../audit/audited-request.js';
import { Auditor } from '../audit/auditor.js';
import { ERROR_MAPPERS } from './problem.renderer.js';
import { openDoor } from './testing/front-door.js';

// Guard: what is said of a failure depends on what its request has done before.
it('whoever translates an error knows of which request it is', async () => {
  const door = await openDoor(
    {},
    {
      providers: [
        { provide: Auditor, useValue: { answered: () => undefined } },
        { provide: ERROR_MAPPERS, useValue: [() => problem('unavailable', `of ${audited()?.entry.operation}`)] },
      ],
    },
  );
  try {
    const { body } = await api(door.url).post('/v0/things', { name: 'busy' });
    expect(body).toMatchObject({ detail: 'unavailable: of create-thing' });
  } finally {
    await door.close();
  }
});
