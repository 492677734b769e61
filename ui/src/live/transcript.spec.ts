import { describe, expect, it } from '@jest/globals';
import { Transcript } from './transcript.js';

const message = (id: string, text: string, status = 'final') => ({
  id,
  role: 'assistant',
  status,
  blocks: text === '' ? [] : [{ type: 'text', text }],
});
const placed = (place: number, text: string) => ({ ...message(`e${place}`, text), place });
const structured = (operation: string, ...structured_messages: object[]) => ({
  event: 'structured',
  id: '1',
  data: { operation, structured_messages },
});
const textsOf = (transcript: Transcript): string[] => {
  transcript.flush();
  return transcript.snapshot().messages.map(({ id, blocks }) => `${id} ${(blocks[0] as { text: string }).text}`);
};

describe('a transcript', () => {
  it('keeps each entry in its place, as it came last', () => {
    const transcript = new Transcript(() => undefined);
    transcript.apply(structured('snapshot', message('1', 'a'), message('2', 'b', 'partial')));
    transcript.apply(structured('upsert', message('3', 'c')));
    transcript.apply(structured('upsert', message('2', 'bb')));
    expect(textsOf(transcript)).toEqual(['1 a', '2 bb', '3 c']);
    transcript.apply(structured('upsert', message('1', 'a', 'superseded'), message('3', '')));
    expect(textsOf(transcript)).toEqual(['2 bb']);
    transcript.apply(structured('reset', message('9', 'z')));
    expect(textsOf(transcript)).toEqual(['9 z']);
    transcript.prepend(undefined, [message('8', 'y')] as never, undefined);
    expect(textsOf(transcript)).toEqual(['8 y', '9 z']);
  });

  it('keeps what was paged back where the stream is told anew, for another page', () => {
    const transcript = new Transcript(() => undefined);
    const snapshot = (...messages: object[]): object => {
      const { data, ...rest } = structured('snapshot', ...messages);
      return { ...rest, data: { ...data, pagination: { has_older_messages: true, truncated_before_message: '3' } } };
    };
    const before = (): unknown => transcript.snapshot().before;
    transcript.apply(snapshot(message('3', 'c'), message('4', 'd')) as never);
    transcript.prepend('3', [message('1', 'a'), message('2', 'b')] as never, '1');
    transcript.apply(snapshot(message('3', 'cc'), message('5', 'e')) as never);
    expect([textsOf(transcript), before()]).toEqual([['1 a', '2 b', '3 cc', '5 e'], '1']);
    transcript.apply(snapshot(message('7', 'g')) as never);
    expect([textsOf(transcript), before()]).toEqual([['7 g'], '3']);
    transcript.apply(structured('reset', message('7', 'g')));
    expect([textsOf(transcript), before()]).toEqual([['7 g'], undefined]);
  });

  it('lets go of the oldest beyond its bound, but not of what was paged back before the reader is at the end again', () => {
    const transcript = new Transcript(() => undefined);
    const entries = (from: number, count: number) => Array.from({ length: count }, (_, n) => message(String(from + n), 'a'));
    const said = (): [string, number] => {
      transcript.flush();
      const { messages } = transcript.snapshot();
      return [messages[0]!.id, messages.length];
    };
    transcript.apply(structured('snapshot', ...entries(1_000, 2_000)));
    transcript.apply(structured('upsert', ...entries(3_000, 1)));
    expect(said()).toEqual(['1001', 2_000]);
    transcript.prepend('1001', entries(801, 200) as never, '801');
    transcript.apply(structured('upsert', ...entries(3_000, 1)));
    expect(said()).toEqual(['801', 2_200]);
    transcript.apply(structured('upsert', ...entries(3_001, 1)));
    expect(said()).toEqual(['802', 2_200]);
    transcript.atEnd();
    expect(said()).toEqual(['1002', 2_000]);
    transcript.apply(structured('upsert', ...entries(3_002, 1)));
    expect([said(), transcript.snapshot().before]).toEqual([['1003', 2_000], '1003']);
  });

  it('has entries in the order of their places, whatever the order of their changes', () => {
    const transcript = new Transcript(() => undefined);
    transcript.apply(structured('snapshot', placed(9, 'user')));
    transcript.apply(structured('upsert', placed(11, 'B'), placed(10, 'A'), placed(12, 'C')));
    expect(textsOf(transcript)).toEqual(['e9 user', 'e10 A', 'e11 B', 'e12 C']);
    // In two frames, and one that shows nothing before its end.
    transcript.apply(structured('upsert', placed(13, ''), placed(14, 'D')));
    transcript.apply(structured('upsert', placed(13, 'late')));
    expect(textsOf(transcript).slice(-2)).toEqual(['e13 late', 'e14 D']);
    transcript.apply(structured('upsert', message('of an older release', 'E'), placed(15, 'F')));
    transcript.apply(structured('upsert', placed(8, 'first')));
    expect(textsOf(transcript).map((text) => text.split(' ').at(-1))).toEqual(['first', 'user', 'A', 'B', 'C', 'late', 'D', 'E', 'F']);
  });

  it('leaves a change of what stands before its first entry to whoever pages back to it', () => {
    const transcript = new Transcript(() => undefined);
    const { data, ...rest } = structured('snapshot', placed(501, ''), placed(502, 'b'));
    const pagination = { has_older_messages: true, truncated_before_message: 'e501' };
    transcript.apply({ ...rest, data: { ...data, pagination } });
    transcript.apply(structured('upsert', placed(7, 'of long ago'), placed(503, 'c'), placed(501, 'a')));
    expect(textsOf(transcript)).toEqual(['e501 a', 'e502 b', 'e503 c']);
    transcript.prepend('e501', [placed(500, 'z')] as never, 'e500');
    transcript.apply(structured('upsert', placed(7, 'of long ago')));
    expect(textsOf(transcript)[0]).toBe('e500 z');
    transcript.prepend('e500', [placed(7, 'of long ago')] as never, undefined);
    transcript.apply(structured('upsert', placed(3, 'of longer ago')));
    expect(textsOf(transcript).slice(0, 3)).toEqual(['e3 of longer ago', 'e7 of long ago', 'e500 z']);
  });

  it('lets nothing go while a page is on its way to it', () => {
    const transcript = new Transcript(() => undefined);
    const said = (): [string, number, string | undefined] => {
      transcript.flush();
      const { messages, before } = transcript.snapshot();
      return [messages[0]!.id, messages.length, before];
    };
    transcript.apply(structured('snapshot', ...Array.from({ length: 2_001 }, (_, n) => placed(1_000 + n, 'a'))));
    const [come, another] = [transcript.hold(), transcript.hold()];
    another();
    transcript.apply(structured('upsert', placed(3_001, 'a')));
    expect(said()).toEqual(['e1001', 2_001, 'e1001']);
    transcript.prepend('e1001', [placed(999, 'a'), placed(1_000, 'a')] as never, 'e999');
    expect(said()).toEqual(['e999', 2_003, 'e999']);
    come();
    expect(said()).toEqual(['e1000', 2_002, 'e1000']);
  });

  it('has what was told without places after what is older, and where it came', () => {
    const transcript = new Transcript(() => undefined);
    const { data, ...rest } = structured('snapshot', message('x', '1'), message('y', '2'));
    transcript.apply({ ...rest, data: { ...data, pagination: { has_older_messages: true, truncated_before_message: 'x' } } } as never);
    transcript.prepend('x', [placed(300, 'a'), placed(499, 'b')] as never, 'e300');
    transcript.apply(structured('upsert', { ...placed(500, '1'), id: 'x' }, placed(503, 'd'), placed(502, 'c'), message('z', '3')));
    transcript.apply(structured('upsert', placed(400, 'late')));
    expect(textsOf(transcript)).toEqual(['e300 a', 'e400 late', 'e499 b', 'x 1', 'y 2', 'e502 c', 'e503 d', 'z 3']);
  });

  it('takes no page before an entry that has gone since it was asked for', () => {
    const transcript = new Transcript(() => undefined);
    transcript.apply(structured('snapshot', ...Array.from({ length: 2_000 }, (_, n) => placed(1_000 + n, 'a'))));
    transcript.apply(structured('upsert', placed(3_000, 'a')));
    transcript.apply(structured('upsert', placed(3_001, 'a')));
    transcript.prepend('e1001', [placed(999, 'a'), placed(1_000, 'a')] as never, 'e999');
    transcript.apply(structured('upsert', placed(1_000, 'b')));
    transcript.flush();
    const { messages, before } = transcript.snapshot();
    expect([messages[0]!.id, before]).toEqual(['e1002', 'e1002']);
  });

  it('knows what is asked until it is answered, or the stream begins anew without it', () => {
    const transcript = new Transcript(() => undefined);
    const questions = (): string[] => {
      transcript.flush();
      return transcript.snapshot().questions.map(({ request_id }) => request_id);
    };
    for (const request_id of ['p', 'q']) transcript.apply({ event: 'pending', id: '', data: { request_id, kind: 'approval' } });
    transcript.apply({ event: 'pending_cleared', id: '', data: { request_id: 'p' } });
    transcript.apply(structured('upsert', message('1', 'a')));
    expect(questions()).toEqual(['q']);
    for (const operation of ['snapshot', 'reset']) {
      transcript.apply(structured(operation, message('1', 'a')));
      expect(questions()).toEqual([]);
      transcript.apply({ event: 'pending', id: '', data: { request_id: 'p', kind: 'approval' } });
      expect(questions()).toEqual(['p']);
    }
  });
});
