import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compileContracts, CONTRACT_SETS } from '../../scripts/compile-contracts.ts';

test.each(CONTRACT_SETS)(
  "the committed artifacts equal the compiler's output",
  (set) => {
    const artifacts = join(set.directory, 'artifacts');
    const compiled = compileContracts(set);
    expect(readdirSync(artifacts).sort()).toEqual([...compiled.keys()].sort());
    for (const [file, content] of compiled) {
      expect({ file, same: readFileSync(join(artifacts, file), 'utf8') === content }).toEqual({
        file,
        same: true,
      });
    }
  },
  400_000,
); // the compilers are slow
