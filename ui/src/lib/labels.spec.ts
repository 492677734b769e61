import { describe, expect, it } from '@jest/globals';
import { labelLines, labelsOf } from './labels.js';

describe('labels in a form', () => {
  // Guard: whoever changes the title of a bead changes none of its labels.
  it('are the same again when nothing was typed', () => {
    const labels = ['two\nlines', ' wide ', 'owner: Smith, J.', 'x'];
    expect(labelLines(labels)).toBe('owner: Smith, J.\nx');
    expect(labelsOf(labelLines(labels), labels)).toEqual(labels);
  });

  it('are one a line, each once', () => {
    expect(labelsOf(' a, b \n\nc\r\nc', ['gone'])).toEqual(['a, b', 'c']);
    expect(labelsOf('')).toEqual([]);
  });
});
