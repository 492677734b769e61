import { describe, expect, it } from '@jest/globals';
import { keptBytes } from './sse.js';

describe('bytes that are kept', () => {
  it.each(['', 'id: 1\n', 'Zürich 🏙', 'half \ud83c of it', 'x'.repeat(100_000)])(
    'are those of the text, and keep nothing else (%#)',
    (text) => {
      const bytes = keptBytes(text);
      expect(bytes.equals(Buffer.from(text))).toBe(true);
      expect(bytes.buffer.byteLength).toBe(bytes.length);
    },
  );
});
