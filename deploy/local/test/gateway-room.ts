import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { findFreePorts } from '../src/find-free-ports.ts';
import type { GatewayOptions } from '../src/gateway-options.ts';
import type { Gateway } from '../src/start-gateway.ts';

export interface GatewayRoom {
  readonly stateDir: string;
  gateway: Gateway | undefined;
  optionsOf(changes?: Partial<GatewayOptions>): Promise<GatewayOptions>;
  leave(): Promise<void>;
}

export function makeGatewayRoom(): GatewayRoom {
  const stateDir = mkdtempSync(join(tmpdir(), 'opentill-local-'));
  chmodSync(stateDir, 0o711);
  const room: GatewayRoom = {
    stateDir,
    gateway: undefined,
    optionsOf: async (changes = {}) => ({
      stateDir,
      keep: false,
      ports: await findFreePorts(),
      merchant: {
        token: 'a-token-of-the-gateway-room-0123456789-0123456789',
        webhookSecret: 'a-secret',
        callbackUrl: 'http://localhost:1/callbacks',
        version: 'V3',
      },
      given: {},
      services: ['demo-shop', 'scanner-tron'],
      ...changes,
    }),
    async leave() {
      await room.gateway?.stop();
      room.gateway = undefined;
      expect(processesOf(stateDir)).toEqual([]);
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
  return room;
}

/** Command lines of processes that use the directory in arguments, environment or working directory. */
export function processesOf(directory: string): string[] {
  const read = (pid: string, name: string): string => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, 'latin1').replaceAll('\0', ' ');
    } catch {
      return '';
    }
  };
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .filter((pid) => `${read(pid, 'cmdline')} ${read(pid, 'environ')}`.includes(directory))
    .map((pid) => `${pid} ${read(pid, 'cmdline')}`);
}
