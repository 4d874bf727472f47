import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { TronDevnetOptions } from '../../src/tron/start-tron-devnet.ts';
import { withScratchDirectory } from '@opentill/test-servers/scratch-directory';
import { newAccount, startWorld, textOf, type World } from './world.ts';

let open: World | undefined;
afterEach(async () => {
  await open?.devnet.close();
  open = undefined;
});

async function start(options: Partial<TronDevnetOptions> = {}): Promise<World> {
  open = await startWorld(options);
  return open;
}

async function send(world: World, to: string, sun: number): Promise<string> {
  const signed = await world.tronWeb.trx.sign(await world.tronWeb.transactionBuilder.sendTrx(to, sun));
  const answer = await world.tronWeb.trx.sendRawTransaction(signed);
  expect(answer.result).toBe(true);
  return signed.txID;
}

async function blockOf(world: World, txid: string): Promise<number | undefined> {
  return (await world.ask('wallet/gettransactioninfobyid', { value: txid }))['blockNumber'];
}

test('derives the same chain, accounts and tokens from the same seed', async () => {
  const first = await start();
  const { chainId, tokens, accounts } = first.devnet;
  await first.devnet.close();
  const second = await start();
  expect(second.devnet).toMatchObject({ chainId, tokens, accounts });
  await second.devnet.close();
  const other = await start({ seed: 'another' });
  expect(other.devnet.chainId).not.toBe(chainId);
});

test('a reorganisation moves transactions to blocks with other ids', async () => {
  const world = await start();
  const { devnet, ask } = world;
  const someone = newAccount();
  const txid = await send(world, someone.address, 5);
  await devnet.control.mine(2);
  const before = await ask('wallet/getblockbynum', { num: await blockOf(world, txid) });
  const { head } = await devnet.control.reorganise(2);
  expect(head).toBe(before['block_header'].raw_data.number + 2);
  const after = await ask('wallet/getblockbynum', { num: await blockOf(world, txid) });
  expect(after['transactions'][0].txID).toBe(txid);
  expect(after['blockID']).not.toBe(before['blockID']);
  expect(await ask('wallet/getblockbyid', { value: before['blockID'] })).toEqual({});
  const parent = await ask('wallet/getblockbynum', { num: after['block_header'].raw_data.number + 1 });
  expect(parent['block_header'].raw_data.parentHash).toBe(after['blockID']);
  expect((await ask('wallet/getaccount', { address: someone.hex }))['balance']).toBe(5);
});

test('drops a transaction with its effects and accepts the same bytes again', async () => {
  const world = await start();
  const { devnet, ask, tronWeb } = world;
  const someone = newAccount();
  const built = await tronWeb.transactionBuilder.sendTrx(someone.address, 5);
  const signed = await tronWeb.trx.sign(built);
  await tronWeb.trx.sendRawTransaction(signed);
  await devnet.control.mine(2);
  await devnet.control.reorganise(2, { drop: true });
  expect(await ask('wallet/gettransactioninfobyid', { value: built.txID })).toEqual({});
  expect(await ask('wallet/getaccount', { address: someone.hex })).toEqual({});
  expect((await tronWeb.trx.sendRawTransaction(signed)).result).toBe(true);
  await devnet.control.mine();
  expect((await ask('wallet/getaccount', { address: someone.hex }))['balance']).toBe(5);
});

test('never reorganises solidified blocks', async () => {
  const { devnet } = await start({ solidLagBlocks: 3 });
  await devnet.control.mine(10);
  await devnet.control.reorganise(3);
  await expect(devnet.control.reorganise(4)).rejects.toThrow(/above the solidified/);
});

test('walletsolidity returns the state of the solidified block', async () => {
  const world = await start({ solidLagBlocks: 3 });
  const { devnet, ask } = world;
  const someone = newAccount();
  await send(world, someone.address, 7);
  await devnet.control.mine(2);
  const balance = async (side: string): Promise<unknown> =>
    (await ask(`${side}/getaccount`, { address: someone.hex }))['balance'];
  expect([await balance('wallet'), await balance('walletsolidity')]).toEqual([7, undefined]);
  await devnet.control.mine(2);
  expect(await balance('walletsolidity')).toBe(7);
  const { tokens, accounts } = devnet;
  await devnet.control.fund(someone.address, { symbol: 'USDT', amountBaseUnits: 11n });
  const tokenBalance = async (side: string): Promise<bigint> => {
    const answer = await ask(`${side}/triggerconstantcontract`, {
      owner_address: accounts[1]!.address,
      contract_address: tokens.USDT,
      function_selector: 'balanceOf(address)',
      parameter: someone.hex.slice(2).padStart(64, '0'),
      visible: true,
    });
    return BigInt(`0x${answer['constant_result'][0]}`);
  };
  expect([await tokenBalance('wallet'), await tokenBalance('walletsolidity')]).toEqual([11n, 0n]);
});

test('rejects expired transactions and drops those that expire in the pool', async () => {
  const world = await start();
  const { devnet, ask, tronWeb } = world;
  const someone = newAccount();
  const signed = await tronWeb.trx.sign(await tronWeb.transactionBuilder.sendTrx(someone.address, 5));
  const txid = await send(world, someone.address, 6);
  devnet.control.stepTimeMs(61_000);
  await devnet.control.mine();
  expect(await ask('wallet/gettransactionbyid', { value: txid })).toEqual({});
  const answer = await ask('wallet/broadcasttransaction', signed);
  expect(answer['code']).toBe('TRANSACTION_EXPIRATION_ERROR');
  expect(textOf(answer['message'])).toBe('Transaction expired');
});

test('rejects a reference block of another fork', async () => {
  const { devnet, ask, tronWeb } = await start();
  await devnet.control.mine();
  const signed = await tronWeb.trx.sign(
    await tronWeb.transactionBuilder.sendTrx(newAccount().address, 5), // TronWeb refers to the head
  );
  await devnet.control.reorganise(1);
  expect((await ask('wallet/broadcasttransaction', signed))['code']).toBe('TAPOS_ERROR');
});

test('mines blocks on a timer and pauses', async () => {
  const { devnet } = await start({ blockTimeMs: 20 });
  const first = devnet.control.summary().head;
  const heights = async (count: number): Promise<void> => {
    const goal = devnet.control.summary().head + count;
    while (devnet.control.summary().head < goal) await new Promise((resolve) => setImmediate(resolve));
  };
  const beganAt = Date.now();
  await heights(3);
  const { headTimeMs } = devnet.control.summary();
  expect(headTimeMs).toBeGreaterThanOrEqual(beganAt);
  expect(headTimeMs).toBeLessThanOrEqual(Date.now() + 1_000); // simultaneous blocks are a millisecond apart
  devnet.control.pause();
  await devnet.control.mine(0); // waits for a block in progress
  const { head } = devnet.control.summary();
  expect(head).toBeGreaterThanOrEqual(first + 3);
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(devnet.control.summary().head).toBe(head);
  devnet.control.resume();
  await heights(1);
});

test('requested blocks are three seconds apart; a time step falls between two', async () => {
  const genesisTimeMs = Date.UTC(2026, 0, 1);
  const { devnet } = await start({ genesisTimeMs });
  const times: number[] = [];
  const { control } = devnet;
  for (const stepMs of [0, 0, 60_000, 0]) {
    control.stepTimeMs(stepMs);
    times.push((await control.mine()).headTimeMs - genesisTimeMs);
  }
  expect(times).toEqual([3_000, 6_000, 69_000, 72_000]);
});

test('a configured energy factor survives a reorganisation', async () => {
  const world = await start();
  const { devnet } = world;
  await world.land(await world.transferOf('USDT', newAccount().address, 1n)); // adds energy usage of the contract
  await devnet.control.setEnergyFactor(devnet.tokens.USDT, 34_000);
  await devnet.control.reorganise(1);
  const { contract_state: state } = await world.ask('wallet/getcontractinfo', {
    value: devnet.tokens.USDT,
    visible: true,
  });
  expect(state.energy_factor).toBe(34_000);
});

test('deletes old undo logs and blocks', async () => {
  const { devnet } = await start({ solidLagBlocks: 5, keepBlocks: 20 });
  await devnet.control.mine(100);
  const { blocks } = devnet.chain;
  expect([...blocks.values()].filter(({ undo }) => undo !== undefined)).toHaveLength(5);
  expect(blocks.size).toBeLessThanOrEqual(21);
});

test('continues a saved chain and can reorganise its blocks', async () => {
  await withScratchDirectory(async (directory) => {
    const stateFile = join(directory, 'tron.state');
    const first = await start({ stateFile });
    const someone = newAccount();
    const { txids } = await first.devnet.control.fund(someone.address, {
      trxSun: 5n,
      symbol: 'USDT',
      amountBaseUnits: 6n,
    });
    const left = first.devnet.control.summary();
    await first.devnet.close();

    const second = await start({ stateFile });
    expect(second.devnet.control.summary()).toEqual(left);
    expect(await blockOf(second, txids[0]!)).toBe(left.head);
    expect((await second.ask('wallet/getaccount', { address: someone.hex }))['balance']).toBe(5);
    await second.devnet.control.reorganise(1, { drop: true });
    expect(await second.ask('wallet/getaccount', { address: someone.hex })).toEqual({});
    await second.devnet.close();
    open = undefined;
    await expect(startWorld({ stateFile, seed: 'another' })).rejects.toThrow(/another chain/);
  });
});

test('serves controls over HTTP and rejects unknown ones', async () => {
  const world = await start();
  const someone = newAccount();
  const funded = await world.ask('devnet/fund', {
    address: someone.address,
    trxSun: '1000000',
    symbol: 'USDC',
    amountBaseUnits: '2500000',
  });
  expect(funded['txids']).toHaveLength(2);
  expect(await blockOf(world, funded['txids'][1])).toBeDefined();
  expect(await world.ask('devnet/mine', { count: 3 })).toMatchObject({ head: 23, solid: 5 });
  expect(await world.ask('devnet/reorganise', { depth: 2, blocks: 2 })).toMatchObject({ head: 23 });
  expect((await world.ask('devnet/dance'))['error']).toMatch(/there is no control dance/);
  expect((await world.ask('devnet/fault', { kind: 'status' }))['error']).toMatch(/status is missing/);
});
