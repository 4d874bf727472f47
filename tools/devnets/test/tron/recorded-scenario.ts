import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TronWeb, utils } from 'tronweb';
import type { Parsed } from './world.ts';
import type { TronDevnet } from '../../src/tron/start-tron-devnet.ts';

// Replays a scenario of a java-tron 4.8.0 chain (fixtures/java-tron-4.8.0-answers.json) with other keys and times.
export type Answers = Record<string, unknown>;
type Json = Record<string, unknown>;
interface RecordedTransaction {
  readonly contract_address?: string;
  readonly raw_data: Json & { readonly contract: readonly [{ readonly parameter: { value: Json } }] };
}

export const RECORDED = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', 'fixtures', 'java-tron-4.8.0-answers.json'), 'utf8'),
) as Answers;

/** Addresses of the recording: 41 and 20 bytes. */
const RECORDED_ROLES = {
  rich: '41928c9af0651632157ef27a2cf17ca72c575a4d21',
  hot: '410eef60e8d8d92d7ff26594cc9453fd98d319055d',
  customer: '41437b7a07cb8aff68bf82161a9718aad6b8dbcb16',
  deposit: '4103ebaf34dbed9203dbce786de77a4ba43380bab8',
  inner1: '4115a6c2d792930872b49a61755c96abd8039903d9',
  inner2: '41d7d931973a713d448abac08094c17127b41d4afa',
  stranger: '41469c788076249ef176c92675f87d3fad663a392c',
  tether: '41499b6ecbd61fe1eea03e68261233aad66f383b82',
  like: '412cd404ff1bdbe92c7abe69ec91deb90e94f1b3a5',
  multi: '4100bd8ad456087abd6e5ee28127dd6f6c5f2e1ab4',
  nobody: TronWeb.address.toHex('TC5xa7rz2ksABJ4ECtEWgeNpbAT1fRv63S'),
} as const;
type Role = keyof typeof RECORDED_ROLES;

/** Responses with role names in place of addresses, so that they can be compared. */
export interface Played {
  readonly own: Answers;
  readonly answers: Answers;
  readonly recorded: Answers;
}

export async function playRecorded(devnet: TronDevnet): Promise<Played> {
  const player = createPlayer(devnet);
  const { answers } = player;
  answers['params'] = await player.ask('wallet/getchainparameters');
  answers['now'] = await player.ask('wallet/getnowblock');
  for (const name of ['trx.activate', 'trx.plain']) await player.replay(name);
  await player.deploy('deploy.Tether04', 'tether');
  await player.deploy('deploy.UsdtLike', 'like');
  await player.deploy('deploy.Multi', 'multi');
  for (const name of ['usdt.cold', 'usdt.hot']) await player.replay(name);
  await duplicates(player);
  await refusals(player);
  for (const name of ['fail.balance', 'fail.feelimit']) await player.replay(name);
  for (const name of ['like.cold', 'like.cold2', 'like.hot', 'like.issue', 'dep.fund']) {
    await player.replay(name);
  }
  const value = (change: Json) => (raw: Parsed) => Object.assign(raw.contract[0].parameter.value, change);
  await player.broadcast(await player.remake('freeze', { raw: value({ frozen_balance: 5_000_000 }) }));
  await player.mine(1);
  const lend = await player.remake('delegate', { raw: value({ balance: 1_000_000 }) });
  answers['err.delegate.noacct'] = await player.broadcast(lend);
  for (const name of ['dep.create', 'freeze', 'delegate']) await player.replay(name);
  await accounts(player);
  await player.replay('sweep.delegated');
  answers['err.bandwidth'] = await player.broadcast(await player.remake('sweep.delegated'));
  await player.replay('undelegate');
  await constantCalls(player);
  for (const name of ['internal', 'fake', 'memo']) await player.replay(name);
  await endOfScenario(player);
  return {
    own: answers,
    answers: player.inRoles(answers, 'played'),
    recorded: player.inRoles(RECORDED, 'recorded'),
  };
}

type Player = ReturnType<typeof createPlayer>;

function createPlayer(devnet: TronDevnet) {
  const keys: Partial<Record<Role, string>> = { rich: devnet.accounts[0]!.privateKeyHex };
  const roles: Partial<Record<Role, string>> = {
    rich: TronWeb.address.toHex(devnet.accounts[0]!.address),
  };
  for (const role of Object.keys(RECORDED_ROLES) as Role[]) {
    if (role === 'rich' || role === 'tether' || role === 'like' || role === 'multi') continue;
    const account = utils.accounts.generateAccount();
    keys[role] = account.privateKey;
    roles[role] = account.address.hex.toLowerCase();
  }
  const answers: Answers = {};

  const ask = async (path: string, body: Json = {}): Promise<Parsed> => {
    const response = await fetch(`${devnet.url}/${path}`, { method: 'POST', body: JSON.stringify(body) });
    return response.json();
  };
  const mine = async (count: number): Promise<unknown> => devnet.control.mine(count);
  const translate = (text: string): string => {
    let translated = text;
    for (const [role, address] of Object.entries(roles)) {
      translated = translated.replaceAll(RECORDED_ROLES[role as Role].slice(2), address.slice(2));
    }
    return translated;
  };
  /** Builds a recorded transaction, unsigned, for this chain and time. `change` may invalidate it. */
  const remake = async (
    name: string,
    change: { expiresAfterMs?: number; refHash?: string; raw?: (raw: Parsed) => void } = {},
  ): Promise<Json> => {
    const recorded = RECORDED[`${name}.tx`] as RecordedTransaction;
    const head = await ask('wallet/getblock', { detail: false });
    const time = head.block_header.raw_data.timestamp as number;
    const raw = JSON.parse(translate(JSON.stringify(recorded.raw_data)));
    Object.assign(raw, {
      ref_block_bytes: (head.block_header.raw_data.number & 0xffff).toString(16).padStart(4, '0'),
      ref_block_hash: change.refHash ?? head.blockID.slice(16, 32),
      expiration: time + (change.expiresAfterMs ?? 60_000),
      timestamp: time + Object.keys(answers).length,
    });
    change.raw?.(raw);
    return { visible: false, raw_data: raw };
  };
  const ownerRole = (transaction: Json): Role => {
    const [contract] = (transaction['raw_data'] as RecordedTransaction['raw_data']).contract;
    const owner = contract.parameter.value['owner_address'];
    return Object.entries(roles).find(([, address]) => address === owner)![0] as Role;
  };
  const sign = (transaction: Json, as: Role = ownerRole(transaction)): Json => {
    const pb = utils.transaction.txJsonToPb(transaction as never);
    const txID = utils.transaction.txPbToTxID(pb).replace(/^0x/, '');
    const unsigned = { ...transaction, txID, raw_data_hex: utils.transaction.txPbToRawDataHex(pb) };
    return utils.crypto.signTransaction(keys[as]!, unsigned as never) as unknown as Json;
  };
  const send = async (signed: Json): Promise<Json> => {
    const answer = await ask('wallet/broadcasttransaction', signed);
    if (answer.message) answer.message = Buffer.from(answer.message, 'hex').toString();
    return answer;
  };
  const broadcast = async (transaction: Json, as?: Role): Promise<Json> => send(sign(transaction, as));
  const replay = async (name: string): Promise<void> => {
    const answer = await broadcast(await remake(name));
    answers[`${name}.broadcast`] = answer;
    await mine(1);
    answers[`${name}.info`] = await ask('wallet/gettransactioninfobyid', { value: answer['txid'] });
    answers[`${name}.tx`] = await ask('wallet/gettransactionbyid', { value: answer['txid'] });
  };
  const deploy = async (name: string, role: Role): Promise<void> => {
    await replay(name);
    roles[role] = (answers[`${name}.info`] as Json)['contract_address'] as string;
  };
  const inRoles = (of: Answers, side: 'played' | 'recorded'): Answers => {
    let text = JSON.stringify(of);
    for (const role of Object.keys(RECORDED_ROLES) as Role[]) {
      const address = side === 'recorded' ? RECORDED_ROLES[role] : roles[role];
      if (address === undefined) continue;
      text = text.replaceAll(TronWeb.address.fromHex(address), `<${role}>`);
      text = text.replaceAll(address.slice(2), `<${role}>`);
    }
    return JSON.parse(text.replaceAll(/error: [0-9a-f]{130} is/g, 'error: <signature> is')) as Answers;
  };
  return { answers, ask, broadcast, deploy, inRoles, mine, remake, replay, roles, send, sign };
}

async function duplicates(player: Player): Promise<void> {
  const { answers, ask } = player;
  const confirmed = answers['usdt.hot.tx'] as Json;
  answers['dup.confirmed'] = await player.send(confirmed);
  const recordedPending = RECORDED['pending.byid'] as RecordedTransaction;
  const amount = recordedPending.raw_data.contract[0].parameter.value;
  const payment = await player.remake('like.cold2', {
    raw: (raw) => {
      raw.contract[0].parameter.value.contract_address = player.roles.tether;
      raw.contract[0].parameter.value.data =
        raw.contract[0].parameter.value.data.slice(0, -64) + String(amount['data']).slice(-64);
    },
  });
  const signed = player.sign(payment);
  const value = signed['txID'];
  answers['dup.first'] = await player.send(signed);
  answers['dup.pending'] = await player.send(signed);
  answers['pending.byid'] = await ask('wallet/gettransactionbyid', { value });
  answers['pending.info'] = await ask('wallet/gettransactioninfobyid', { value });
  answers['pending.solid'] = await ask('walletsolidity/gettransactionbyid', { value });
  await player.mine(1);
  const head = await ask('wallet/getnowblock');
  const num = head.block_header.raw_data.number as number;
  answers['block'] = head;
  answers['infos'] = await ask('wallet/gettransactioninfobyblocknum', { num });
  answers['infos.visible'] = await ask('wallet/gettransactioninfobyblocknum', { num, visible: true });
  answers['infos.future'] = await ask('wallet/gettransactioninfobyblocknum', { num: num + 1000 });
  answers['block.future'] = await ask('wallet/getblockbynum', { num: num + 1000 });
  answers['limitnext.bad'] = await ask('wallet/getblockbylimitnext', { startNum: 1, endNum: 200 });
  const next = await ask('wallet/getblockbylimitnext', { startNum: num - 1, endNum: num + 1 });
  answers['limitnext'] = Object.keys(next);
  answers['solid.notyet'] = await ask('walletsolidity/gettransactioninfobyid', { value });
  answers['solid.blockfuture'] = await ask('walletsolidity/getblockbynum', { num });
}

async function refusals(player: Player): Promise<void> {
  const { answers } = player;
  const hour = 3_600_000;
  const payment = async (change: Parameters<Player['remake']>[1] = {}): Promise<Json> =>
    player.remake('like.cold2', change);
  const trx = async (to: string, amount: number): Promise<Json> =>
    player.remake('memo', {
      raw: (raw) => {
        delete raw.data;
        Object.assign(raw.contract[0].parameter.value, { to_address: to, amount });
      },
    });
  const good = await payment();
  answers['err.sig'] = await player.broadcast(good, 'rich');
  answers['err.nosig'] = await player.send({ ...player.sign(good), signature: [] });
  const [signature] = player.sign(good)['signature'] as string[];
  answers['err.shortsig'] = await player.send({ ...player.sign(good), signature: [signature!.slice(0, -2)] });
  answers['err.expired'] = await player.broadcast(await payment({ expiresAfterMs: 2_999 }));
  answers['err.tapos'] = await player.broadcast(await payment({ refHash: '0000000000000000' }));
  answers['err.toofar'] = await player.broadcast(await payment({ expiresAfterMs: 25 * hour }));
  const from = (role: Role) => (raw: Parsed) => {
    raw.contract[0].parameter.value.owner_address = player.roles[role];
  };
  answers['err.noaccount'] = await player.broadcast(await payment({ raw: from('nobody') }));
  answers['err.nocontract'] = await player.broadcast(
    await payment({
      raw: (raw) => (raw.contract[0].parameter.value.contract_address = player.roles.stranger),
    }),
  );
  const tooMuch = (raw: Parsed) => (raw.fee_limit = 15_000_000_001);
  answers['err.feelimit'] = await player.broadcast(await payment({ raw: tooMuch }));
  answers['err.trxbalance'] = await player.broadcast(await trx(player.roles.customer!, 10 ** 12));
  answers['err.trxself'] = await player.broadcast(await trx(player.roles.customer!, 1));
  answers['err.trxtocontract'] = await player.broadcast(await trx(player.roles.tether!, 1));
}

async function accounts(player: Player): Promise<void> {
  const { answers, ask, roles } = player;
  for (const [name, role] of [
    ['dep', 'deposit'],
    ['hot', 'hot'],
    ['none', 'stranger'],
  ] as const) {
    answers[`${name}.resource`] = await ask('wallet/getaccountresource', { address: roles[role] });
    answers[`${name}.account`] = await ask('wallet/getaccount', { address: roles[role] });
  }
}

async function constantCalls(player: Player): Promise<void> {
  const { answers, ask, roles } = player;
  const word = (hex: string): string => hex.padStart(64, '0');
  const call = async (endpoint: string, change: Json): Promise<Parsed> =>
    ask(`wallet/${endpoint}`, {
      owner_address: roles.hot,
      contract_address: roles.tether,
      function_selector: 'transfer(address,uint256)',
      ...change,
    });
  const to = word(roles.customer!.slice(2));
  answers['const.ok'] = await call('triggerconstantcontract', { parameter: to + word('1') });
  const tooMuch = { parameter: to + 'f'.repeat(64) };
  answers['const.revert'] = await call('triggerconstantcontract', tooMuch);
  answers['const.nocontract'] = await call('triggerconstantcontract', {
    contract_address: roles.stranger,
    parameter: to + word('1'),
  });
  answers['estimate'] = await call('estimateenergy', { parameter: to + word('1') });
  answers['estimate.revert'] = await call('estimateenergy', tooMuch);
  answers['const.balance'] = await call('triggerconstantcontract', {
    function_selector: 'balanceOf(address)',
    parameter: word(roles.hot!.slice(2)),
  });
}

async function endOfScenario(player: Player): Promise<void> {
  const { answers, ask, roles } = player;
  answers['internal.account'] = await ask('wallet/getaccount', { address: roles.inner1 });
  const rpc = async (method: string, params: unknown[]): Promise<Parsed> =>
    ask('jsonrpc', { jsonrpc: '2.0', id: 1, method, params });
  const topics = [`0x${TRANSFER_TOPIC}`];
  const address = `0x${roles.tether!.slice(2)}`;
  answers['rpc.blockNumber'] = await rpc('eth_blockNumber', []);
  answers['rpc.logs'] = await rpc('eth_getLogs', [{ fromBlock: '0x1', toBlock: 'latest', address, topics }]);
  answers['rpc.chainId'] = await rpc('eth_chainId', []);
  const finalized = await rpc('eth_getBlockByNumber', ['finalized', false]);
  answers['rpc.finalized'] = finalized.result.number;
  answers['contract'] = Object.keys(await ask('wallet/getcontract', { value: roles.tether })).toSorted();
  const info = await ask('wallet/getcontractinfo', { value: roles.tether });
  answers['contractinfo'] = { keys: Object.keys(info), state: info.contract_state };
  answers['badaddr'] = await ask('wallet/getaccount', { address: 'zz' });
  answers['getblock.nodetail'] = Object.keys(await ask('wallet/getblock', { detail: false }));
}

const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
