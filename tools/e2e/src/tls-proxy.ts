import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { startNginx, type WebServerUnderTest } from './web-server.ts';

export interface TlsProxyOptions {
  readonly block: string;
  readonly nginx: string;
  readonly folder: string;
  /** On 127.0.0.1. */
  readonly port: number;
  readonly upstream: string;
}

export async function startTlsProxy(options: TlsProxyOptions): Promise<WebServerUnderTest> {
  const { block, nginx, folder, port, upstream } = options;
  const [certificate, key] = [join(folder, 'pay.pem'), join(folder, 'pay.key')];
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', key, '-out', certificate];
  const properties = ['-x509', '-nodes', '-days', '1', '-subj', '/CN=pay.example.com'];
  execFileSync('openssl', ['req', ...properties, ...made], { stdio: 'ignore' });
  const configuration = [
    ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
    ['/etc/ssl/pay.example.com.pem', certificate],
    ['/etc/ssl/pay.example.com.key', key],
    ['http://127.0.0.1:3010', upstream.replace('localhost', '127.0.0.1')],
  ].reduce((text, [shown = '', here = '']) => {
    if (!text.includes(shown)) throw new Error(`the guide's proxy has no ${shown}`);
    return text.replace(shown, here);
  }, block);
  return startNginx(nginx, { folder, port, configuration });
}
