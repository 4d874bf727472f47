import { connect } from 'node:http2';
import { GrpcTypes, RpcError, SuiGrpcClient } from '@mysten/sui/grpc';
import { requestSuiFromFaucetV2 } from '@mysten/sui/faucet';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { SuiFault } from '../../src/sui/start-sui-devnet.ts';
import { waitUntil } from '@opentill/test-servers/poll-until';
import { newAddress, newKey, startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterEach(() => {
  world.devnet.control.clearFaults();
  world.devnet.control.setCheckpointMs(0);
});
afterAll(async () => world.devnet.close());

const SCAN_MASK = {
  paths: [
    'sequence_number',
    'digest',
    'summary.previous_digest',
    'summary.timestamp',
    'transactions.digest',
    'transactions.transaction.sender',
    'transactions.effects.status',
    'transactions.effects.gas_used',
    'transactions.balance_changes',
  ],
};

function subscribe(client: SuiGrpcClient): {
  readonly frames: AsyncIterator<GrpcTypes.SubscribeCheckpointsResponse>;
  /** Resolves when the node has accepted the subscription. */
  readonly started: Promise<unknown>;
  readonly stop: () => void;
} {
  const gone = new AbortController();
  const { responses, headers } = client.subscriptionService.subscribeCheckpoints(
    { readMask: SCAN_MASK },
    { abort: gone.signal },
  );
  return { frames: responses[Symbol.asyncIterator](), started: headers, stop: () => gone.abort() };
}

async function read(
  frames: AsyncIterator<GrpcTypes.SubscribeCheckpointsResponse>,
  count: number,
): Promise<GrpcTypes.Checkpoint[]> {
  const checkpoints: GrpcTypes.Checkpoint[] = [];
  while (checkpoints.length < count) {
    const { value, done } = await frames.next();
    if (done === true) throw new Error('the stream has ended');
    checkpoints.push((value as GrpcTypes.SubscribeCheckpointsResponse).checkpoint!);
  }
  return checkpoints;
}

async function at(client: SuiGrpcClient, number: number): Promise<GrpcTypes.Checkpoint> {
  const { response } = await client.ledgerService.getCheckpoint({
    checkpointId: { oneofKind: 'sequenceNumber', sequenceNumber: BigInt(number) },
    readMask: SCAN_MASK,
  });
  return response.checkpoint!;
}

async function list(
  client: SuiGrpcClient,
  start: number,
  end: number,
): Promise<readonly GrpcTypes.ListCheckpointsResponse[]> {
  const call = client.ledgerService.listCheckpoints({
    startCheckpoint: BigInt(start),
    endCheckpoint: BigInt(end),
    readMask: SCAN_MASK,
    options: { limit: 100 },
  });
  const frames: GrpcTypes.ListCheckpointsResponse[] = [];
  for await (const frame of call.responses) frames.push(frame);
  return frames;
}

function numbersOf(checkpoints: readonly GrpcTypes.Checkpoint[]): number[] {
  return checkpoints.map(({ sequenceNumber }) => Number(sequenceNumber));
}

test('subscriptions, lists and single requests return the same linked checkpoints', async () => {
  const { devnet, client } = world;
  devnet.control.setCheckpointMs(20);
  const { frames, stop } = subscribe(client);
  const first = await read(frames, 2);
  const to = newAddress();
  const { digests } = await devnet.control.fund(to, { symbol: 'USDC', amountBaseUnits: 5n });
  const streamed = [...first, ...(await read(frames, 1))];
  const isStreamed = (): boolean =>
    streamed.some(({ transactions }) => transactions.some(({ digest }) => digest === digests[0]));
  while (!isStreamed()) streamed.push(...(await read(frames, 1)));
  streamed.push(...(await read(frames, 3)));
  stop();
  devnet.control.setCheckpointMs(0);
  const seen = streamed.slice(-8); // no more than one list returns
  const start = Number(seen[0]!.sequenceNumber);
  expect(numbersOf(seen)).toEqual(seen.map((_, index) => start + index));
  expect(seen.slice(1).map(({ summary }) => summary?.previousDigest)).toEqual(
    seen.slice(0, -1).map(({ digest }) => digest),
  );
  const paid = seen.flatMap(({ transactions }) => transactions).find(({ digest }) => digest === digests[0]);
  expect(paid?.balanceChanges).toContainEqual({ address: to, coinType: devnet.tokens.USDC, amount: '5' });
  expect(await at(client, start + 1)).toEqual(seen[1]);
  const listed = await list(client, start, start + seen.length);
  expect(listed.flatMap(({ checkpoint }) => (checkpoint ? [checkpoint] : []))).toEqual(seen);
  expect(listed.at(-1)?.end?.reason).toBe(GrpcTypes.QueryEndReason.CHECKPOINT_BOUND);
});

test('returns the same data as gRPC-web text, gRPC-web binary and native gRPC', async () => {
  const { devnet, client } = world;
  const text = new SuiGrpcClient({ network: 'localnet', baseUrl: devnet.url });
  const number = devnet.control.summary().checkpoint;
  expect(await at(text, number)).toEqual(await at(client, number));
  const session = connect(devnet.url);
  const call = session.request({
    ':method': 'POST',
    ':path': '/sui.rpc.v2.LedgerService/GetCheckpoint',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  const message = GrpcTypes.GetCheckpointRequest.toBinary({
    checkpointId: { oneofKind: 'sequenceNumber', sequenceNumber: BigInt(number) },
    readMask: SCAN_MASK,
  });
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  call.end(Buffer.concat([head, message]));
  const trailers = new Promise<Record<string, unknown>>((resolve) => call.once('trailers', resolve));
  const chunks: Buffer[] = [];
  for await (const chunk of call) chunks.push(chunk as Buffer);
  const answer = GrpcTypes.GetCheckpointResponse.fromBinary(
    new Uint8Array(Buffer.concat(chunks).subarray(5)),
  );
  expect(answer.checkpoint).toEqual(await at(client, number));
  expect((await trailers)['grpc-status']).toBe('0');
  session.close();
});

test('subscriptions can be cut, fall silent or skip a checkpoint', async () => {
  const { devnet, client } = world;
  devnet.control.setCheckpointMs(20);
  const cut = subscribe(client);
  await read(cut.frames, 1);
  devnet.control.dropConnections();
  await expect(read(cut.frames, 50)).rejects.toThrow();
  const gap = subscribe(client);
  const numbers = numbersOf(await read(gap.frames, 1));
  devnet.control.fault({ kind: 'skip-checkpoint', times: 1 });
  while (numbers.at(-1)! - numbers[0]! < numbers.length)
    numbers.push(...numbersOf(await read(gap.frames, 1)));
  expect(numbers.at(-1)).toBe(numbers.at(-2)! + 2);
  gap.stop();
  const silent = subscribe(client);
  const heard = numbersOf(await read(silent.frames, 1));
  devnet.control.fault({ kind: 'silent-streams' });
  const last = devnet.control.summary().checkpoint;
  const reading = (async () => {
    for (;;) heard.push(...numbersOf(await read(silent.frames, 1)));
  })();
  const isLater = (): boolean => devnet.control.summary().checkpoint >= last + 2;
  expect(await waitUntil(isLater, { deadlineMs: 60_000, pollIntervalMs: 10 })).toBe(true);
  devnet.control.clearFaults();
  const loud = subscribe(client);
  await read(loud.frames, 4);
  loud.stop();
  expect(Math.max(...heard)).toBeLessThanOrEqual(last);
  silent.stop();
  await expect(reading).rejects.toThrow(RpcError);
});

test('a node can lag, be pruned or lack history', async () => {
  const { devnet, client } = world;
  const { checkpoint: head } = devnet.control.checkpoint(10);
  devnet.control.fault({ kind: 'lag', checkpoints: 3 });
  expect((await client.ledgerService.getServiceInfo({})).response.checkpointHeight).toBe(BigInt(head - 3));
  await expect(at(client, head - 2)).rejects.toThrow(/not found/);
  expect((await list(client, head - 4, head + 1)).at(-1)?.end?.reason).toBe(
    GrpcTypes.QueryEndReason.LEDGER_TIP,
  );
  const late = subscribe(client);
  await late.started;
  devnet.control.checkpoint(2);
  expect(numbersOf(await read(late.frames, 2))).toEqual([head - 2, head - 1]);
  devnet.control.clearFaults();
  devnet.control.checkpoint(1);
  expect(numbersOf(await read(late.frames, 4))).toEqual([head, head + 1, head + 2, head + 3]);
  late.stop();
  devnet.control.fault({ kind: 'no-history' });
  await expect(list(client, head - 1, head)).rejects.toMatchObject({ code: 'UNIMPLEMENTED' });
  const node = await devnet.control.openNode();
  node.prune(head - 1);
  const pruned = world.clientOf(node.url);
  expect((await pruned.ledgerService.getServiceInfo({})).response.lowestAvailableCheckpoint).toBe(
    BigInt(head - 1),
  );
  await expect(at(pruned, head - 2)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(list(pruned, head - 2, head)).rejects.toMatchObject({ code: 'OUT_OF_RANGE' });
  expect((await at(client, head - 2)).digest).toBeDefined();
});

test('a second node can fork, invent or hide payments, or omit balance changes', async () => {
  const { devnet, client } = world;
  const to = newAddress();
  await devnet.control.fund(to, { symbol: 'USDT', amountBaseUnits: 8n });
  const { checkpoint: number } = devnet.control.summary();
  devnet.control.checkpoint(2);
  const node = await devnet.control.openNode();
  const other = world.clientOf(node.url);
  const paidBy = async (asked: SuiGrpcClient): Promise<readonly (string | undefined)[]> => {
    const { transactions } = await at(asked, number);
    return transactions.flatMap(({ balanceChanges }) =>
      balanceChanges.filter(({ address }) => address === to).map(({ amount }) => amount),
    );
  };
  const under = async (fault: SuiFault): Promise<readonly (string | undefined)[]> => {
    node.fault(fault);
    const amounts = await paidBy(other);
    expect(await paidBy(client)).toEqual(['8']);
    node.clearFaults();
    return amounts;
  };
  expect(await under({ kind: 'no-balance-changes' })).toEqual([]);
  expect(await under({ kind: 'hide-payments', address: to })).toEqual([]);
  const coinType = devnet.tokens.USDC;
  const invented = {
    kind: 'invent-payment',
    checkpoint: number,
    address: to,
    coinType,
    amountBaseUnits: 99n,
  } as const;
  expect(await under(invented)).toEqual(['8', '99']);
  node.fault({ kind: 'fork', fromCheckpoint: number });
  const fork = await Promise.all([0, 1, 2].map(async (more) => at(other, number - 1 + more)));
  const truth = await Promise.all([0, 1, 2].map(async (more) => at(client, number - 1 + more)));
  expect(fork[0]).toEqual(truth[0]);
  expect([fork[1]!.digest === truth[1]!.digest, fork[2]!.digest === truth[2]!.digest]).toEqual([
    false,
    false,
  ]);
  expect(fork.slice(1).map(({ summary }) => summary?.previousDigest)).toEqual(
    fork.slice(0, 2).map(({ digest }) => digest),
  );
});

test('a node can lose a response, discard a transaction or reject for a while', async () => {
  const { devnet, keys, offline, execute, balanceOf } = world;
  const to = newAddress();
  const written = await offline(keys[1]!, to, 6n, 1);
  devnet.control.fault({ kind: 'status', code: 'UNAVAILABLE', method: 'ExecuteTransaction', times: 1 });
  await expect(execute(written)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  devnet.control.fault({ kind: 'swallow-execute', times: 1 });
  expect((await execute(written)).$kind).toBe('Transaction');
  devnet.control.checkpoint();
  expect(await balanceOf(to, 'USDC')).toBe(0n);
  devnet.control.fault({ kind: 'lose-execute-answer', times: 1 });
  await expect(execute(written)).rejects.toThrow();
  devnet.control.checkpoint();
  expect(await balanceOf(to, 'USDC')).toBe(6n);
  expect((await execute(written)).$kind).toBe('Transaction');
  devnet.control.checkpoint();
  expect(await balanceOf(to, 'USDC')).toBe(6n);
  devnet.control.fault({ kind: 'rate-limit', perSecond: 1, method: 'GetBalance' });
  expect(await balanceOf(to, 'USDC')).toBe(6n);
  const isRefused = async (): Promise<boolean> => {
    const answers = await Promise.allSettled([1, 2, 3, 4].map(async () => balanceOf(to, 'USDC')));
    // A machine that takes seconds for four requests stays within the rate.
    return answers.filter(({ status }) => status === 'rejected').length >= 2;
  };
  expect(await waitUntil(isRefused, { deadlineMs: 60_000, pollIntervalMs: 10 })).toBe(true);
});

test("lists an address's transactions and rejects filters that are too long", async () => {
  const { devnet, client } = world;
  const to = newAddress();
  const sent: string[] = [];
  for (const amountBaseUnits of [1n, 2n, 3n]) {
    sent.push(...(await devnet.control.fund(to, { symbol: 'USDC', amountBaseUnits })).digests);
  }
  const filter = (addresses: readonly string[]): GrpcTypes.TransactionFilter => ({
    terms: addresses.map((address) => ({
      literals: [
        { negated: false, predicate: { oneofKind: 'affectedAddress', affectedAddress: { address } } },
      ],
    })),
  });
  const query = async (
    options: GrpcTypes.QueryOptions,
    addresses: readonly string[],
  ): Promise<readonly string[]> => {
    const { responses } = client.ledgerService.listTransactions({ filter: filter(addresses), options });
    const digests: string[] = [];
    for await (const { transaction } of responses) if (transaction) digests.push(transaction.digest!);
    return digests;
  };
  expect(await query({}, [to])).toEqual(sent);
  expect(await query({ ordering: GrpcTypes.Ordering.DESCENDING, limit: 2 }, [to])).toEqual(
    sent.toReversed().slice(0, 2),
  );
  await expect(query({}, Array.from({ length: 11 }, newAddress))).rejects.toThrow(/the maximum is 10/);
  await expect(
    client.ledgerService.getCheckpoint({
      checkpointId: { oneofKind: undefined },
      readMask: { paths: ['summary.nonsense'] },
    }).response,
  ).rejects.toThrow(/invalid read_mask path: summary.nonsense/);
});

test("serves controls over HTTP and the client's faucet", async () => {
  const { devnet, client } = world;
  const post = async (name: string, body: object = {}): Promise<Record<string, unknown>> => {
    const response = await fetch(`${devnet.url}/devnet/${name}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    return (await response.json()) as Record<string, unknown>;
  };
  const to = newAddress();
  await post('fund', { address: to, symbol: 'USDC', amountBaseUnits: '7', form: 'address' });
  const { balance } = await client.getBalance({ owner: to, coinType: devnet.tokens.USDC });
  expect(balance).toMatchObject({ addressBalance: '7', coinBalance: '0' });
  const { checkpoint } = await post('summary');
  expect((await post('checkpoint', { count: 2 }))['checkpoint']).toBe(Number(checkpoint) + 2);
  expect(await post('fault', { kind: 'nonsense' })).toMatchObject({
    error: expect.stringContaining('there is no fault nonsense'),
  });
  await post('fault', { kind: 'status', code: 'UNAVAILABLE', times: 1 });
  await expect(client.getBalance({ owner: to })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const { url } = await post('openNode');
  expect((await world.clientOf(String(url)).getBalance({ owner: to })).balance.balance).toBe('0');
  const poor = newKey().toSuiAddress();
  await requestSuiFromFaucetV2({ host: devnet.url, recipient: poor });
  expect((await client.getBalance({ owner: poor })).balance.coinBalance).toBe('10000000000');
});
