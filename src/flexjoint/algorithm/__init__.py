"""`@algorithm`: what a public function takes and gives, and how a call finds its kernel."""
