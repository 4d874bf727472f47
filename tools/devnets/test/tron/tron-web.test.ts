import { afterAll, beforeAll, expect, test } from 'vitest';
import { TronWeb, utils } from 'tronweb';
import { tronArtifact } from '../../src/tron/tron-artifacts.ts';
import { newAccount, startWorld, textOf, type Parsed, type World } from './world.ts';

// Official TronWeb, used like a customer's wallet and a gateway.
let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(async () => world.devnet.close());

const SUN = 1_000_000;

test('connects and reads blocks', async () => {
  const { tronWeb } = world;
  expect(await tronWeb.isConnected()).toMatchObject({ fullNode: true, solidityNode: true });
  const head = await tronWeb.trx.getCurrentBlock();
  const number = head.block_header.raw_data.number;
  expect(await tronWeb.trx.getBlock(number)).toEqual(head);
  expect(await tronWeb.trx.getBlockByHash(head.blockID)).toEqual(head);
  const confirmed = await tronWeb.trx.getConfirmedCurrentBlock();
  expect(confirmed.block_header.raw_data.number).toBe(number - 18);
  expect((await tronWeb.trx.getBlock('earliest')).blockID).toMatch(
    new RegExp(`${world.devnet.chainId.slice(2)}$`),
  );
});

test('sends TRX to a new address, which activates it for 1.1 TRX', async () => {
  const { tronWeb } = world;
  const someone = newAccount();
  const receipt = await world.land(await tronWeb.transactionBuilder.sendTrx(someone.address, 5 * SUN));
  expect(receipt).toMatchObject({ fee: 1_100_000, receipt: { net_fee: 100_000 } });
  expect(receipt['receipt'].result).toBeUndefined();
  expect(await tronWeb.trx.getUnconfirmedBalance(someone.address)).toBe(5 * SUN);
  expect(await tronWeb.trx.getTransaction(receipt['id'])).toMatchObject({
    ret: [{ contractRet: 'SUCCESS' }],
  });
});

test('transfers tokens with an event, although transfer returns false', async () => {
  const { tronWeb, devnet, ask } = world;
  const someone = newAccount();
  const receipt = await world.land(await world.transferOf('USDT', someone.address, 12_345_678n));
  expect(receipt['receipt']).toMatchObject({ result: 'SUCCESS' });
  expect(receipt['contractResult']).toEqual(['0'.repeat(64)]);
  const [log] = receipt['log'];
  expect(log).toMatchObject({
    address: TronWeb.address.toHex(devnet.tokens.USDT).slice(2),
    data: 12_345_678n.toString(16).padStart(64, '0'),
  });
  expect(log.topics[2]).toBe(someone.hex.slice(2).padStart(64, '0'));
  const token = await tronWeb.contract().at(devnet.tokens.USDT);
  expect(BigInt(await token['balanceOf']!(someone.address).call())).toBe(12_345_678n);
  expect(Number(await token['decimals']!().call())).toBe(6);
  expect(await ask('walletsolidity/gettransactioninfobyid', { value: receipt['id'] })).toEqual({});
  await devnet.control.mine(18);
  expect(await ask('walletsolidity/gettransactioninfobyid', { value: receipt['id'] })).toEqual(receipt);
});

test("builds a call on the node and sends it with TronWeb's contract object", async () => {
  const { tronWeb, devnet } = world;
  const someone = newAccount();
  const token = await tronWeb.contract().at(devnet.tokens.USDC);
  const txid = await token['transfer']!(someone.address, 7).send({ feeLimit: 100_000_000 });
  await devnet.control.mine();
  expect(await tronWeb.trx.getUnconfirmedTransactionInfo(txid)).toMatchObject({
    receipt: { result: 'SUCCESS' },
  });
});

test("deploys a contract at TronWeb's address; it sends TRX and emits fake events", async () => {
  const { tronWeb, devnet } = world;
  const { abi, bytecode } = tronArtifact('TronMulti');
  const creation = await tronWeb.transactionBuilder.createSmartContract(
    { abi, bytecode, feeLimit: 1_000_000_000, name: 'TronMulti', originEnergyLimit: 1_000_000 } as never,
    tronWeb.defaultAddress.hex as string,
  );
  const deployed = await world.land(creation);
  expect(deployed).toMatchObject({
    contract_address: creation.contract_address,
    receipt: { result: 'SUCCESS' },
  });
  const multi = await tronWeb.contract().at(creation.contract_address);
  const [first, second] = [newAccount(), newAccount()];
  const sent = await multi['sendTrx']!([first.address, second.address], [1_000, 2_000]).send({
    callValue: 3_000,
    feeLimit: 100_000_000,
  });
  await devnet.control.mine();
  const receipt = await tronWeb.trx.getUnconfirmedTransactionInfo(sent);
  expect(receipt.internal_transactions).toMatchObject([
    { transferTo_address: first.hex, callValueInfo: [{ callValue: 1_000 }], note: '63616c6c' },
    { transferTo_address: second.hex, callValueInfo: [{ callValue: 2_000 }], note: '63616c6c' },
  ]);
  expect(await tronWeb.trx.getUnconfirmedAccount(first.address)).toMatchObject({ balance: 1_000 });

  const token = await tronWeb.contract().at(devnet.tokens.USDT);
  await token['approve']!(creation.contract_address, 100).send({ feeLimit: 100_000_000 });
  await devnet.control.mine();
  const many = await multi['sendFrom']!(devnet.tokens.USDT, [first.address, second.address], [30, 40]).send({
    feeLimit: 200_000_000,
  });
  await devnet.control.mine();
  const logs = (await tronWeb.trx.getUnconfirmedTransactionInfo(many)).log;
  expect(logs.map((log) => BigInt(`0x${log.data}`))).toEqual([30n, 40n]);

  const fake = await multi['fakeTransfer']!(first.address, second.address, 9).send({ feeLimit: 100_000_000 });
  const undone = await multi['sendAndRevert']!(devnet.tokens.USDT, first.address, 5).send({
    feeLimit: 200_000_000,
  });
  await devnet.control.mine();
  const [fakeLog] = (await tronWeb.trx.getUnconfirmedTransactionInfo(fake)).log;
  expect(`41${fakeLog!.address}`).toBe(creation.contract_address);
  const reverted = await tronWeb.trx.getUnconfirmedTransactionInfo(undone);
  expect(reverted).toMatchObject({ result: 'FAILED', receipt: { result: 'REVERT' } });
  expect(reverted.log).toBeUndefined();
});

test('Tether pauses, blocks senders, deducts fees and destroys funds', async () => {
  const { devnet, tronWeb } = world;
  const owner = world.walletOf(devnet.accounts[0]!.privateKeyHex);
  const token = await owner.contract().at(devnet.tokens.USDT);
  const customer = newAccount();
  const run = async (method: string, ...values: unknown[]): Promise<Parsed> => {
    const txid = await token[method]!(...values).send({ feeLimit: 200_000_000 });
    await devnet.control.mine();
    return owner.trx.getUnconfirmedTransactionInfo(txid);
  };
  const pay = async () => world.land(await world.transferOf('USDT', customer.address, 10_000_000n));

  await run('setParams', 10, 1);
  const [net, fee] = (await pay())['log'];
  expect([BigInt(`0x${net.data}`), BigInt(`0x${fee.data}`)]).toEqual([9_990_000n, 10_000n]);
  await run('setParams', 0, 0);
  await run('pause');
  expect((await pay())['receipt']).toMatchObject({ result: 'REVERT' });
  await run('unpause');
  await run('addBlackList', tronWeb.defaultAddress.base58);
  expect((await pay())['receipt']).toMatchObject({ result: 'REVERT' });
  await run('removeBlackList', tronWeb.defaultAddress.base58);
  await run('addBlackList', customer.address);
  const destroyed = await run('destroyBlackFunds', customer.address);
  expect(destroyed.log).toHaveLength(1);
  expect(destroyed.log[0].topics[0]).not.toMatch(/^ddf252ad/);
  expect(BigInt(await token['balanceOf']!(customer.address).call())).toBe(0n);
});

test('sweeps with delegated energy without burning TRX, within the fee limit', async () => {
  const { tronWeb } = world;
  const deposit = newAccount();
  await world.land(await world.transferOf('USDT', deposit.address, 5_000_000n));
  await world.land(await tronWeb.transactionBuilder.createAccount(deposit.address));
  // Share of the whole network's energy, so one transfer needs this much stake.
  await world.land(await tronWeb.transactionBuilder.freezeBalanceV2(200_000 * SUN, 'ENERGY'));
  const lend = await tronWeb.transactionBuilder.delegateResource(100_000 * SUN, deposit.address, 'ENERGY');
  await world.land(lend);
  const resources = await tronWeb.trx.getAccountResources(deposit.address);
  expect(resources.EnergyLimit).toBeGreaterThan(100_000);

  const wallet = world.walletOf(deposit.privateKey);
  const swept = await world.land(
    await world.transferOf('USDT', tronWeb.defaultAddress.base58 as string, 1_000_000n, wallet),
    wallet,
  );
  expect(swept['fee']).toBeUndefined();
  expect(swept['receipt']).toMatchObject({ result: 'SUCCESS', net_usage: 345 });
  expect(swept['receipt'].energy_usage).toBeGreaterThan(10_000);

  const again = await world.land(
    await world.transferOf('USDT', tronWeb.defaultAddress.base58 as string, 1n, wallet),
    wallet,
  );
  expect(again['code']).toBe('BANDWITH_ERROR');
  await world.land(await tronWeb.transactionBuilder.sendTrx(deposit.address, SUN));
  const stingy = await wallet.transactionBuilder.triggerSmartContract(
    world.devnet.tokens.USDT,
    'transfer(address,uint256)',
    { feeLimit: 500_000, txLocal: true } as never,
    [
      { type: 'address', value: newAccount().address },
      { type: 'uint256', value: 1 },
    ],
  );
  expect((await world.land(stingy.transaction, wallet))['receipt']).toMatchObject({
    result: 'OUT_OF_ENERGY',
    energy_usage_total: 5_000,
  });
  const back = await tronWeb.transactionBuilder.undelegateResource(100_000 * SUN, deposit.address, 'ENERGY');
  expect((await world.land(back))['code']).toBeUndefined();
  const unstaked = await world.land(await tronWeb.transactionBuilder.unfreezeBalanceV2(SUN, 'ENERGY'));
  expect(unstaked).toMatchObject({ unfreeze_amount: SUN });
});

test('a lock prevents reclaiming delegated energy', async () => {
  const { tronWeb } = world;
  const deposit = newAccount();
  await world.land(await tronWeb.transactionBuilder.createAccount(deposit.address));
  const owner = tronWeb.defaultAddress.base58 as string;
  const locked = await tronWeb.transactionBuilder.delegateResource(
    SUN,
    deposit.address,
    'ENERGY',
    owner,
    true,
    10,
  );
  await world.land(locked);
  const refused = await world.land(
    await tronWeb.transactionBuilder.undelegateResource(SUN, deposit.address, 'ENERGY'),
  );
  expect(refused['code']).toBe('CONTRACT_VALIDATE_ERROR');
  await world.devnet.control.mine(10);
  const free = await world.land(
    await tronWeb.transactionBuilder.undelegateResource(SUN, deposit.address, 'ENERGY'),
  );
  expect(free['code']).toBeUndefined();
});

test('estimates energy including the penalty of a busy contract', async () => {
  const { tronWeb, devnet } = world;
  const someone = newAccount();
  const estimate = async (): Promise<Parsed> =>
    tronWeb.transactionBuilder.triggerConstantContract(devnet.tokens.USDC, 'transfer(address,uint256)', {}, [
      { type: 'address', value: someone.address },
      { type: 'uint256', value: 1 },
    ]);
  const plain = await estimate();
  expect(plain.energy_used).toBeGreaterThan(25_000);
  await devnet.control.setEnergyFactor(devnet.tokens.USDC, 34_000);
  const dear = await estimate();
  expect(dear.energy_used / plain.energy_used).toBeCloseTo(4.4, 3);
  expect(dear.energy_penalty).toBe(dear.energy_used - plain.energy_used);
  const receipt = await world.land(await world.transferOf('USDC', someone.address, 1n));
  expect(receipt['receipt']).toMatchObject({
    energy_usage_total: dear.energy_used,
    energy_penalty_total: dear.energy_penalty,
  });
  devnet.control.setChainParameter('getEnergyFee', 210);
  const parameters = await tronWeb.trx.getChainParameters();
  expect(parameters.find(({ key }) => key === 'getEnergyFee')?.value).toBe(210);
  devnet.control.setChainParameter('energyFee', 100);
  await devnet.control.setEnergyFactor(devnet.tokens.USDC, 0);
});

test('accepts signed protobuf in hex, but not the same transaction twice', async () => {
  const { tronWeb, ask, devnet } = world;
  const built = await tronWeb.transactionBuilder.sendTrx(devnet.accounts[2]!.address, 777);
  const signed = await tronWeb.trx.sign(built);
  const hex = signedHex(signed.raw_data_hex, signed.signature[0]!);
  expect(await tronWeb.trx.sendHexTransaction(hex)).toMatchObject({ result: true, txid: built.txID });
  const twice = await ask('wallet/broadcasthex', { transaction: hex });
  expect(twice).toMatchObject({ result: false, code: 'DUP_TRANSACTION_ERROR', message: 'Dup transaction.' });
  await devnet.control.mine();
  expect((await ask('wallet/gettransactioninfobyid', { value: built.txID }))['blockNumber']).toBeDefined();
});

/** Encodes the protocol's `Transaction`: field 1 is the raw data, field 2 the signature. */
function signedHex(rawDataHex: string, signature: string): string {
  const field = (tag: string, hex: string): string => {
    let length = hex.length / 2;
    let varint = '';
    for (; length > 127; length >>= 7) varint += ((length & 127) | 128).toString(16).padStart(2, '0');
    return tag + varint + length.toString(16).padStart(2, '0') + hex;
  };
  return field('0a', rawDataHex) + field('12', signature);
}

test('rejects a transaction that was changed after signing', async () => {
  const { tronWeb, ask } = world;
  const signed: Parsed = await tronWeb.trx.sign(
    (await world.transferOf('USDT', newAccount().address, 1n)) as never,
  );
  const changed = structuredClone(signed);
  changed.raw_data.contract[0].parameter.value.data =
    signed.raw_data.contract[0].parameter.value.data.replace(/1$/, '2');
  const answer = await ask('wallet/broadcasttransaction', changed);
  expect(answer['code']).toBe('SIGERROR');
  expect(textOf(answer['message'])).toMatch(/is not contained of permission/);
});

test('gives equal payments on one block one id, unless timestamps differ', async () => {
  const { tronWeb, devnet } = world;
  const head = await tronWeb.trx.getCurrentBlock();
  const { number, timestamp } = head.block_header.raw_data;
  const blockHeader = {
    ref_block_bytes: (number & 0xffff).toString(16).padStart(4, '0'),
    ref_block_hash: head.blockID.slice(16, 32),
    expiration: timestamp + 60_000,
    timestamp,
  };
  const build = async (change: object): Promise<Parsed> =>
    tronWeb.transactionBuilder.sendTrx(devnet.accounts[2]!.address, 9, undefined, {
      blockHeader: { ...blockHeader, ...change },
    } as never);
  const [one, same, other] = [await build({}), await build({}), await build({ timestamp: timestamp + 1 })];
  expect(same.txID).toBe(one.txID);
  expect(other.txID).not.toBe(one.txID);
  expect(utils.transaction.txCheck(one)).toBe(true);
});
