import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { compileContracts } from '../scripts/compile-contracts.ts';

const artifacts = join(import.meta.dirname, 'artifacts');

test('the committed artifacts are what the compiler makes of the contracts', () => {
  const compiled = compileContracts();
  expect(readdirSync(artifacts).sort()).toEqual([...compiled.keys()].sort());
  for (const [file, content] of compiled) {
    expect({ file, same: readFileSync(join(artifacts, file), 'utf8') === content }).toEqual({
      file,
      same: true,
    });
  }
});
