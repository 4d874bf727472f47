import { expect, test } from 'vitest';
import { listeningInodes, shortenCommand } from './port-owner.ts';

// Recorded from /proc/net/tcp: a listener on 3000 (0BB8), a connection from that port, a listener on 3001 (0BB9).
const TABLE = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 41001 1 0000000000000000 100 0 0 10 0
   1: 0100007F:0BB8 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 41002 1 0000000000000000 20 4 30 10 -1
   2: 00000000:0BB9 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 41003 1 0000000000000000 100 0 0 10 0
`;

test('returns only listening sockets of the port', () => {
  expect(listeningInodes(TABLE, 3000)).toEqual(['41001']);
  expect(listeningInodes(TABLE, 3001)).toEqual(['41003']);
});

test('returns no socket for an unused port', () => {
  expect(listeningInodes(TABLE, 0xd431)).toEqual([]);
  expect(listeningInodes('', 3000)).toEqual([]);
});

test('shortens the paths of a command line to their ends', () => {
  const commandLine =
    '/root/.npm/_npx/0123456789/node_modules/node/bin/node\0--flag\0/home/dev/opentill/services/api/dist/main.js\0';
  expect(shortenCommand(commandLine)).toBe('node --flag api/dist/main.js');
  expect(shortenCommand(`anvil\0${'--long '.repeat(30)}`)).toHaveLength(81);
});
