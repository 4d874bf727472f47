import { afterEach, beforeEach, expect, test } from 'vitest';
import pg from 'pg';
import { tokenBalance } from '@opentill/devnets/evm/start-evm-devnet';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { tronTokenBalance } from '@opentill/devnets/tron/payments';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startGateway, type Gateway } from '../src/start-gateway.ts';
import { makeGatewayRoom, processesOf, type GatewayRoom } from './gateway-room.ts';

let room: GatewayRoom;
beforeEach(() => {
  room = makeGatewayRoom();
});
afterEach(() => room.leave(), 60_000);

test('keeps chains, wallet and ledger with --keep, and none of them without', async () => {
  let gateway: Gateway;
  gateway = room.gateway = await startGateway(await room.optionsOf());
  const [chain] = gateway.chains;
  const { rpcUrl } = chain!.node;
  const wallet = gateway.wallet.evmHotWallet;
  const usdt = chain!.network.tokens[0]!.contract!;
  const genesis = await callRpc<{ hash: string }>(rpcUrl, 'eth_getBlockByNumber', ['0x0', false]);
  expect(await tokenBalance(rpcUrl, usdt, wallet)).toBe(1_000_000_000_000n);
  const { tronHotWallet } = gateway.wallet;
  const usdtOnTron = gateway.tron!.network.tokens[0]!.contract!;
  expect(await tronTokenBalance(gateway.tron!.node.url, usdtOnTron, tronHotWallet)).toBe(1_000_000_000_000n);
  const booked = await bookedEntries(gateway);
  const height = await solidHeight(gateway);
  expect(booked).toBeGreaterThan(0);
  await gateway.stop();
  expect(processesOf(room.stateDir)).toEqual([]);

  gateway = room.gateway = await startGateway(await room.optionsOf({ keep: true }));
  const keptUrl = gateway.chains[0]!.node.rpcUrl;
  expect(await callRpc(keptUrl, 'eth_getBlockByNumber', ['0x0', false])).toMatchObject({
    hash: genesis.hash,
  });
  expect(await tokenBalance(keptUrl, usdt, wallet)).toBe(1_000_000_000_000n);
  expect(await tronTokenBalance(gateway.tron!.node.url, usdtOnTron, tronHotWallet)).toBe(1_000_000_000_000n);
  expect(await solidHeight(gateway)).toBeGreaterThanOrEqual(height);
  expect(await bookedEntries(gateway)).toBe(booked);
  await gateway.stop();

  gateway = room.gateway = await startGateway(await room.optionsOf({ durable: false }));
  const freshUrl = gateway.chains[0]!.node.rpcUrl;
  const fresh = await callRpc<{ hash: string }>(freshUrl, 'eth_getBlockByNumber', ['0x0', false]);
  expect(fresh.hash).not.toBe(genesis.hash);
  expect(await bookedEntries(gateway)).toBe(booked);
});

async function bookedEntries(running: Gateway): Promise<number> {
  const client = new pg.Client({ connectionString: running.database.url });
  await client.connect();
  try {
    const { rows } = await client.query<{ count: number }>(
      'select count(*)::int as count from ledger_posting',
    );
    return rows[0]?.count ?? 0;
  } finally {
    await client.end();
  }
}

/** Verified height of scanner-tron, to check that it recognises its chain. */
async function solidHeight(running: Gateway): Promise<number> {
  const client = new pg.Client({ connectionString: running.database.url });
  await client.connect();
  try {
    let height = 0;
    await waitUntil('TRON is read', async () => {
      const { rows } = await client.query<{ height: number }>(
        `select verified_height::int as height from chain_cursor where chain = 'TRON_TEST' and updated_at > now() - interval '5 seconds'`,
      );
      height = rows[0]?.height ?? 0;
      return height > 0;
    });
    return height;
  } finally {
    await client.end();
  }
}
