<?php
// A receiver for PHP's built-in server that needs nothing else. MISTAKE names the one thing that is wrong with it.

function answer(int $status): void
{
    http_response_code($status);
    exit;
}

$mistake = getenv('MISTAKE');
$secret = $mistake === 'unset-secret' ? getenv('WEBHOOK_SECRET_OF_ANOTHER_NAME') : getenv('SECRET');

if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
    answer(405);
}
$raw = file_get_contents('php://input');
$digest = hash_hmac($mistake === 'sha256' ? 'sha256' : 'sha1', $raw, (string) $secret);
$signature = strtolower($_SERVER['HTTP_X_SIGNATURE'] ?? '');
if ($mistake !== 'unchecked' && !hash_equals($digest, $signature)) {
    answer(401);
}
json_decode($raw);
if ($mistake !== 'unchecked-json' && (json_last_error() !== JSON_ERROR_NONE || $raw === '')) {
    answer(400);
}
answer(204);
