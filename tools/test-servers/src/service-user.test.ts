import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findBlockedAncestor, parsePasswd } from './service-user.ts';

test('parses the users of a passwd file and skips other lines', () => {
  const users = parsePasswd(
    'root:x:0:0:root:/root:/bin/bash\n\n# comment\nbroken:x::\nnobody:x:65534:65534::/:/bin/false\n',
  );
  expect([...users.keys()]).toEqual(['root', 'nobody']);
  expect(users.get('nobody')).toEqual({ name: 'nobody', uid: 65_534, gid: 65_534 });
});

test('finds the directory on a path that a user may not enter', () => {
  const stranger = { name: 'stranger', uid: 4_000_000, gid: 4_000_000 };
  const root = mkdtempSync(join(tmpdir(), 'opentill-user-'));
  try {
    const inner = join(root, 'a', 'b');
    mkdirSync(inner, { recursive: true });
    expect(findBlockedAncestor(inner, stranger)).toBe(root); // mkdtemp makes it 0700
    chmodSync(root, 0o711);
    expect(findBlockedAncestor(inner, stranger)).toBeUndefined();
    chmodSync(inner, 0o700);
    expect(findBlockedAncestor(inner, stranger)).toBe(inner);
  } finally {
    rmSync(root, { recursive: true });
  }
});
