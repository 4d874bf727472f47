import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readLastLines } from './last-lines.ts';

test('returns the last lines of short and long files, and none of a missing one', () => {
  const dir = mkdtempSync(join(tmpdir(), 'opentill-lines-'));
  try {
    const file = join(dir, 'log');
    expect(readLastLines(file, 3)).toBe('');
    writeFileSync(file, 'one\ntwo\n');
    expect(readLastLines(file, 3)).toBe('one\ntwo');
    expect(readLastLines(file, 1)).toBe('two');
    writeFileSync(file, Array.from({ length: 20_000 }, (_, line) => `line ${line}`).join('\n'));
    expect(readLastLines(file, 2)).toBe('line 19998\nline 19999');
  } finally {
    rmSync(dir, { recursive: true });
  }
});
