import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { findFreePort } from '@opentill/test-servers/free-port';
import { waitUntil } from '@opentill/testkit/wait-until';

const run = promisify(execFile);
const OUTPUT_MAX = 64 * 1024 * 1024;
const COMMAND_TIMEOUT_MS = 900_000;
const RESTART_AFTER_MS = 500;

/** A namespace of the cluster of OPENTILL_TEST_KUBECONFIG. Needs `kubectl` and `helm` in PATH. */
export interface Cluster {
  readonly namespace: string;
  kubectl(args: readonly string[], input?: string): Promise<string>;
  helm(args: readonly string[]): Promise<string>;
  apply(resources: readonly object[]): Promise<void>;
  /** Address of a node, for ports of Services. */
  nodeAddress(): Promise<string>;
  nodePortOf(service: string): Promise<number>;
  /** Ready pods of a component of the release. */
  podsOf(component?: string): Promise<readonly string[]>;
  /** Opens a port of a pod on this machine, past all network policies. */
  forward(target: string, port: number): Promise<{ readonly port: number; close(): Promise<void> }>;
  remove(): Promise<void>;
}

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set. See CONTRIBUTING.md.`);
  return value;
}

export async function openCluster(namespace: string): Promise<Cluster> {
  const env = { ...process.env, KUBECONFIG: required('OPENTILL_TEST_KUBECONFIG') };
  const options = { env, maxBuffer: OUTPUT_MAX, timeout: COMMAND_TIMEOUT_MS };
  const execute = async (command: string, args: readonly string[], input?: string): Promise<string> => {
    const running = run(command, ['-n', namespace, ...args], options);
    running.child.stdin?.end(input);
    return (await running).stdout;
  };
  const kubectl: Cluster['kubectl'] = async (args, input) => execute('kubectl', args, input);
  const apply: Cluster['apply'] = async (resources) => {
    const list = { apiVersion: 'v1', kind: 'List', items: resources };
    await kubectl(['apply', '--server-side', '--validate=false', '-f', '-'], JSON.stringify(list));
  };
  await apply([
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
    },
  ]);
  return {
    namespace,
    kubectl,
    apply,
    helm: async (args) => execute('helm', args),
    nodeAddress: async () =>
      kubectl([
        'get',
        'nodes',
        '-o',
        'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}',
      ]),
    nodePortOf: async (service) =>
      Number(await kubectl(['get', 'service', service, '-o', 'jsonpath={.spec.ports[0].nodePort}'])),
    async podsOf(component) {
      const selector = ['app.kubernetes.io/name=opentill'];
      if (component !== undefined) selector.push(`app.kubernetes.io/component=${component}`);
      const ready = '{range .items[*]}{.metadata.name}{" "}{.status.containerStatuses[0].ready}{"\\n"}{end}';
      const text = await kubectl(['get', 'pods', '-l', selector.join(','), '-o', `jsonpath=${ready}`]);
      return [...text.matchAll(/^(\S+) true$/gm)].map(([, name = '']) => name);
    },
    async forward(target, port) {
      const own = await findFreePort();
      const args = ['-n', namespace, 'port-forward', target, `${own}:${port}`];
      let isClosed = false;
      let output = '';
      /** kubectl ends when the server resets one connection, or when the pod ends. */
      const start = (): ChildProcess => {
        const started = spawn('kubectl', args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
        started.stdout.on('data', (text: Buffer) => (output += text.toString()));
        started.once('exit', () => {
          if (!isClosed) setTimeout(() => (child = isClosed ? child : start()), RESTART_AFTER_MS);
        });
        return started;
      };
      let child = start();
      await waitUntil(`${target} is forwarded`, () => output.includes('Forwarding from'));
      return {
        port: own,
        async close() {
          isClosed = true;
          child.kill();
          if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
        },
      };
    },
    remove: async () => void (await kubectl(['delete', 'namespace', namespace, '--wait=true'])),
  };
}
