import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { listenLocally, readBody } from '@opentill/testkit/local-http-server';
import { createTronReader } from '../src/reader.ts';
import type { Side } from '../src/tron-client.ts';
import { createTronSources } from '../src/tron-sources.ts';
import { networkOf } from './tron-harness.ts';

// Nodes with java-tron's default ports: `wallet` on one, `walletsolidity` on another.

interface Port {
  readonly side: Side;
  readonly server: Server;
  readonly url: string;
  readonly asked: string[];
}

let devnet: TronDevnet;
let nodes: readonly { readonly wallet: Port; readonly walletsolidity: Port }[];

beforeAll(async () => {
  devnet = await startTronDevnet({ blockTimeMs: 0, solidLagBlocks: 2 });
  await devnet.control.mine(8);
  nodes = await Promise.all(
    [0, 1].map(async () => ({
      wallet: await openPort('wallet'),
      walletsolidity: await openPort('walletsolidity'),
    })),
  );
});
beforeEach(() => {
  for (const { asked } of ports()) asked.length = 0;
});
afterAll(async () => {
  for (const { server } of ports()) server.close().closeAllConnections();
  await devnet.close();
});

const ports = (): readonly Port[] => nodes.flatMap(({ wallet, walletsolidity }) => [wallet, walletsolidity]);

async function openPort(side: Side): Promise<Port> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? '';
      const body = await readBody(request);
      asked.push(path.split('/')[1] ?? '');
      if (!path.startsWith(`/${side}/`)) return response.writeHead(404).end('{"Error":"no such endpoint"}');
      const answer = await fetch(`${devnet.url}${path}`, { method: 'POST', body });
      return response.writeHead(answer.status).end(await answer.text());
    })();
  });
  return { side, server, url: await listenLocally(server), asked };
}

const network = () =>
  networkOf(devnet, [devnet.tokens.USDT], {
    rpcUrls: nodes.map(({ wallet }) => wallet.url),
    solidityUrls: nodes.map(({ walletsolidity }) => walletsolidity.url),
  });

test('sends walletsolidity calls to the solidity URL of the same node', async () => {
  const sources = createTronSources(network(), { requestTimeoutMs: 60_000 }).all();
  expect(sources).toHaveLength(2);
  for (const [place, source] of sources.entries()) {
    for (const side of ['wallet', 'walletsolidity'] as const) {
      for (const { asked } of ports()) asked.length = 0;
      await source.call({ side, method: 'getnowblock' });
      const wasAsked = nodes.map((node) => [
        node.wallet.asked.length > 0,
        node.walletsolidity.asked.length > 0,
      ]);
      expect([place, side, wasAsked[1 - place]]).toEqual([place, side, [false, false]]);
      expect([place, side, wasAsked[place]![side === 'wallet' ? 0 : 1]]).toEqual([place, side, true]);
    }
  }
  for (const { side, asked } of ports()) expect(asked.filter((one) => one !== side)).toEqual([]);
});

test('calls each port only for its own endpoints while it reads blocks', async () => {
  const reader = createTronReader(network(), { requestTimeoutMs: 60_000 });
  await reader.checkNetwork();
  const { solid } = devnet.control.summary();
  const { headers } = await reader.readVerified(1, solid, []);
  expect(headers).toHaveLength(solid);
  for (const { side, asked } of ports()) expect(new Set(asked)).toEqual(new Set([side]));
});
